package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// faultError is a fault of zinc or of the machine, not of the request.
type faultError struct{ err error }

func (e *faultError) Error() string { return e.err.Error() }
func (e *faultError) Unwrap() error { return e.err }

func isLimit(err error) bool {
	return errors.As(err, new(*limitError)) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}
func isFault(err error) bool { return errors.As(err, new(*faultError)) }

// requestError reports a request that cannot be answered, with its HTTP status.
type requestError struct {
	status int
	err    error
}

func (e *requestError) Error() string { return e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

func bad(format string, args ...any) error {
	return &requestError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// errNoView reports an unknown key.
var errNoView = &requestError{http.StatusNotFound,
	errors.New("unknown key; compile the configuration again")}

// answer is the body of an error.
type answer struct {
	Error string `json:"error"`
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var request *requestError
	var limit *limitError
	var body *http.MaxBytesError
	switch {
	case errors.As(err, &request):
		status = request.status
	case errors.As(err, &body):
		status = http.StatusRequestEntityTooLarge
		err = fmt.Errorf("the body has more than the limit of %d bytes", body.Limit)
	case errors.As(err, &limit):
		status = http.StatusUnprocessableEntity
		if limit.retry {
			status = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "1")
		}
	case errors.Is(err, context.Canceled):
		status = http.StatusServiceUnavailable
		err = errors.New("the request was cancelled, or the server is stopping")
	case isFault(err):
		err = fmt.Errorf("internal error: %w", err)
	}
	b, _ := json.Marshal(answer{err.Error()})
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}
