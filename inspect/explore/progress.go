package explore

import (
	"context"
	"net/http"
	"regexp"
	"sync"
)

// jobHeader names a request, so that another request can ask how far it is.
const jobHeader = "X-Zinc-Job"

// jobName is the form of the names of requests.
var jobName = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)

// jobs are the requests with names that run.
type jobs struct {
	mu   sync.Mutex
	list map[string]*progress
}

// progress is how far a request is: the answer to GET progress.
type progress struct {
	Running bool   `json:"running"`
	Stage   string `json:"stage"`
	Done    int    `json:"done"`
	Total   int    `json:"total"` // 0 if it is not known
}

type progressKey struct{}

// follow returns a request under whose name its progress is found until end is called. The number of names is bounded
// by the number of requests. A request without a valid name, or with one in use, is not followed.
func (j *jobs) follow(r *http.Request) (_ *http.Request, end func()) {
	id := r.Header.Get(jobHeader)
	if !jobName.MatchString(id) {
		return r, func() {}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.list[id] != nil {
		return r, func() {}
	}
	if j.list == nil {
		j.list = map[string]*progress{}
	}
	j.list[id] = &progress{Running: true}
	tell := func(stage string, done, total int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		if p := j.list[id]; p != nil {
			p.Stage, p.Done, p.Total = stage, done, total
		}
	}
	return r.WithContext(context.WithValue(r.Context(), progressKey{}, tell)), func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.list, id)
	}
}

// telling returns the function that a job reports its progress to. It does nothing if nobody follows.
func telling(ctx context.Context) func(stage string, done, total int) {
	if tell, ok := ctx.Value(progressKey{}).(func(string, int, int)); ok {
		return tell
	}
	return func(string, int, int) {}
}

func (s *Server) progress(r *http.Request) (any, error) {
	id := r.URL.Query().Get("job")
	if !jobName.MatchString(id) {
		return nil, bad("job is %q, want 1 to 40 letters, digits and hyphens", cut(id))
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	if p := s.jobs.list[id]; p != nil {
		return *p, nil
	}
	return progress{}, nil
}
