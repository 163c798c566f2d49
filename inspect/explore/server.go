package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Server.
type Options struct {
	Models []Source
	// Versions are other zincs that requests may choose by name, besides the one that runs. They are run without
	// checks: whoever starts the server vouches for them.
	Versions []Version
	Limits   Limits    // the zero value means Default
	Log      io.Writer // receives faults of zinc; may be nil
	// Hosts are additional host names that the server answers to. The loopback addresses and localhost are always
	// allowed.
	Hosts []string
}

// Server answers requests about models.
type Server struct {
	limits   Limits
	models   []*model
	versions []Version
	hosts    map[string]bool
	folder   string         // of temporary files
	folders  *regexp.Regexp // those in it, with the separator behind each
	gate     *gate
	views    *cache[*view]
	sides    *cache[*sideView]
	// comparing admits one comparison at a time.
	comparing *gate
	busy      chan struct{}
	intake    intake
	jobs      jobs
	warm      sync.WaitGroup
	resting   atomic.Bool

	logMu sync.Mutex
	logTo io.Writer
}

// New reads the models' texts. Close removes the temporary files.
func New(o Options) (*Server, error) {
	if o.Limits == (Limits{}) {
		o.Limits = Default
	}
	l := o.Limits
	if l.Body < 1 || l.Time < 1 || l.Heap < 1 || l.Jobs < 1 || l.Waiting < 0 || l.Requests < 1 || l.Views < 1 {
		return nil, errors.New("every limit must be greater than 0")
	}
	s := &Server{
		limits:    l,
		versions:  o.Versions,
		hosts:     map[string]bool{"localhost": true},
		gate:      newGate(l.Jobs, l.Waiting),
		comparing: newGate(1, l.Waiting),
		busy:      make(chan struct{}, l.Requests),
		logTo:     o.Log,
	}
	for _, h := range o.Hosts {
		s.hosts[strings.ToLower(h)] = true
	}
	if err := CheckVersions(o.Versions); err != nil {
		return nil, err
	}
	for _, src := range o.Models {
		m, err := openModel(src)
		if err != nil {
			return nil, err
		}
		s.models = append(s.models, m)
	}
	var err error
	if s.folder, err = os.MkdirTemp("", "zinc-explore-"); err != nil {
		return nil, err
	}
	sep := regexp.QuoteMeta(string(filepath.Separator))
	s.folders = regexp.MustCompile(regexp.QuoteMeta(s.folder) + sep + "[A-Za-z0-9_-]+" + sep)
	sample, err := s.sample()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.folder))
	}
	s.models = append(s.models, sample)
	unique(s.models)
	s.views = newCache[*view](l.Views, l.Kept-l.Kept/sideShare)
	s.sides = newCache[*sideView](maxSides, l.Kept/sideShare)
	return s, nil
}

// Warm compiles every model with the default configuration, in the order in which they were named, so that the page
// need not wait.
func (s *Server) Warm(ctx context.Context) {
	s.warm.Go(func() {
		for _, m := range s.models[:len(s.models)-1] {
			c := Config{Model: m.Name}
			if _, release, err := s.compile(ctx, m, &c); err == nil {
				release()
			} else if ctx.Err() != nil {
				return
			}
		}
	})
}

// Close ends running jobs and removes the temporary files. The context of Warm must have ended.
func (s *Server) Close() error {
	s.sides.close()
	s.views.close()
	s.warm.Wait()
	return os.RemoveAll(s.folder)
}

// compile resolves a configuration and returns its view.
func (s *Server) compile(ctx context.Context, m *model, c *Config) (*view, func(), error) {
	if err := c.resolve(m, s.versions); err != nil {
		return nil, nil, &requestError{http.StatusBadRequest, err}
	}
	key, resolved := c.key(m, s.version(c)), *c
	return s.views.get(ctx, key, func(ctx context.Context) (*view, error) { return s.build(ctx, m, resolved, key) })
}

func (s *Server) model(name string) (*model, error) {
	for _, m := range s.models {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, &requestError{http.StatusNotFound, fmt.Errorf("unknown model %q", cut(name))}
}

func (s *Server) log(format string, args ...any) {
	if s.logTo == nil {
		return
	}
	s.logMu.Lock()
	defer s.logMu.Unlock()
	fmt.Fprintf(s.logTo, format+"\n", args...)
}

// Bounds of a connection.
const (
	headerTime  = 5 * time.Second
	bodyTime    = 30 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 32 << 10
	graceTime   = time.Second
	maxJobs     = 5 // of one request: a comparison of outputs compiles and opens both sides
)

// Serve answers requests on a listener until the context ends. In a browser it also answers the page that runs it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
		WriteTimeout:   bodyTime + maxJobs*s.limits.Time, BaseContext: func(net.Listener) context.Context {
			return ctx
		},
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.Background(), graceTime)
		defer cancel()
		if err := h.Shutdown(grace); err != nil {
			err = h.Close()
			stopped <- err
			return
		}
		stopped <- nil
	})
	servePage(ctx, h.Handler)
	err := h.Serve(l)
	if !stop() && errors.Is(err, http.ErrServerClosed) {
		return <-stopped
	}
	return err
}

// reached reports whether a Host header names this server. This protects against DNS rebinding: a foreign name that
// resolves to this machine is refused.
func (s *Server) reached(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if s.hosts[name] {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}
