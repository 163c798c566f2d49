package explore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// intake is the requests whose bodies are being read, the oldest first. Bodies are read before their requests count
// as requests at a time, so that slow ones keep nobody out. Where there are too many, the oldest is cut off: one from
// a page takes milliseconds.
type intake struct {
	mu      sync.Mutex
	reading []*reading
}

// reading is a body that is being read.
type reading struct {
	connection *http.ResponseController
	cut        bool
}

// enter adds a body, and cuts off the oldest if there are more than most.
func (in *intake) enter(b *reading, most int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.reading = append(in.reading, b); len(in.reading) > most {
		oldest := in.reading[0]
		in.reading = in.reading[1:]
		oldest.cut = true
		oldest.connection.SetReadDeadline(time.Unix(1, 0)) // elsewhere the deadline of the body ends it
	}
}

// leave removes a body and reports whether it was cut off.
func (in *intake) leave(b *reading) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reading = slices.DeleteFunc(in.reading, func(other *reading) bool { return other == b })
	return b.cut
}

// readBody replaces the body of a request by its bytes.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) error {
	b := &reading{connection: http.NewResponseController(w)}
	b.connection.SetReadDeadline(time.Now().Add(bodyTime)) // a server without deadlines waits
	s.intake.enter(b, s.limits.Requests)
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.limits.Body))
	timeout := net.Error(nil)
	switch cut := s.intake.leave(b); {
	case cut:
		return &limitError{"reading the body", "it is the oldest of too many that arrive; try again later", true}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &requestError{http.StatusRequestTimeout, fmt.Errorf("the body did not arrive within %s", bodyTime)}
	case errors.As(err, new(*http.MaxBytesError)):
		return err
	case err != nil:
		return bad("body: %w", err)
	}
	b.connection.SetReadDeadline(time.Time{}) // what follows takes its own time
	r.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}
