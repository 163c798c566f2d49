package explore

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"syscall/js"
)

// servePage also answers requests of the page that runs this program in a worker of the browser. It passes a function
// to the global function zincServe: answer(method, path, body, job, done), where path has the query, job may be "",
// and done is called with the status and the body.
func servePage(ctx context.Context, h http.Handler) {
	js.Global().Call("zincServe", js.FuncOf(func(_ js.Value, args []js.Value) any {
		method, path, body, job := args[0].String(), args[1].String(), args[2].String(), args[3].String()
		go func() { // the worker's events wait while the function runs
			status, out := answered(ctx, h, method, path, body, job)
			args[4].Invoke(status, out)
		}()
		return nil
	}))
}

// answered answers one request.
func answered(ctx context.Context, h http.Handler, method, path, body, job string) (status int, out string) {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if job != "" {
		r.Header.Set(jobHeader, job)
	}
	w := memoryAnswer{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(&w, r)
	return w.status, w.body.String()
}

// memoryAnswer is an http.ResponseWriter that keeps the answer.
type memoryAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *memoryAnswer) Header() http.Header         { return w.header }
func (w *memoryAnswer) WriteHeader(status int)      { w.status = status }
func (w *memoryAnswer) Write(p []byte) (int, error) { return w.body.Write(p) }
