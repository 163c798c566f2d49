package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestModelsAreCompiledOncePerTenant also checks that partitions are separate.
func TestModelsAreCompiledOncePerTenant(t *testing.T) {
	var runs atomic.Int32
	var class atomic.Uint32
	b, _ := room(t, func(c *Config) {
		c.Compile = func(_ context.Context, r CompileRequest) ([]byte, []byte, error) {
			runs.Add(1)
			class.Store(uint32(r.QoS))
			return slices.Clone(r.Files[0].Data), nil, nil
		}
	})
	one, peer, other := connect(t, b, caller(1, "A")), connect(t, b, caller(2, "A")), connect(t, b, caller(3, "B"))
	files := Files{{Name: "model.mil", Data: []byte("m")}, {Name: "weight.bin", Data: []byte("w")}}
	compile := func(s *Session, r CompileRequest) *CompileReply {
		t.Helper()
		c, err := s.Compile(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	req := CompileRequest{Files: files, QoS: QoSUtility}
	first := compile(one, req)
	slices.Reverse(files)
	for i, x := range []struct {
		s      *Session
		r      CompileRequest
		cached bool
	}{
		{one, req, true},
		{peer, req, true}, // the same tenant
		{other, req, false},
		{one, CompileRequest{Files: files, Options: map[string]string{"a": "b"}}, false},
		{one, CompileRequest{Files: files[:1]}, false},
		{one, CompileRequest{Files: Files{{Name: "model.milm", Data: nil},
			{Name: "weight.bin", Data: []byte("w")}}}, false},
	} {
		c := compile(x.s, x.r)
		if c.Cached != x.cached {
			t.Errorf("step %d: cached %v", i, c.Cached)
		}
		if i < 3 && c.Model != first.Model {
			t.Errorf("step %d: another digest", i)
		}
	}
	if runs.Load() != 5 {
		t.Errorf("%d compilations, wanted 5", runs.Load())
	}
	if p, err := one.Purge(t.Context(), PurgeRequest{}); err != nil || p.Models != 4 {
		t.Errorf("purge: %+v, %v; wanted 4 models", p, err)
	}
	if compile(other, req).Cached != true || compile(one, req).Cached {
		t.Error("purging one partition purged another, or not its own")
	}
	if class.Load() != uint32(QoSUtility) {
		t.Errorf("the compiler was told class %d", class.Load())
	}
	for _, bad := range []CompileRequest{{}, {Files: Files{{Name: ""}}},
		{Files: Files{{Name: "a"}, {Name: "a"}}}} {
		_, err := one.Compile(t.Context(), bad)
		refused(t, err, BadArgument)
	}
}

// TestCompileTogether checks that one of several concurrent callers compiles, and another one if the first gives up or
// fails.
func TestCompileTogether(t *testing.T) {
	var runs atomic.Int32
	begun := make(chan struct{}, 10)
	hold := make(chan error)
	b, _ := room(t, func(c *Config) {
		c.Compile = func(ctx context.Context, r CompileRequest) ([]byte, []byte, error) {
			runs.Add(1)
			begun <- struct{}{}
			select {
			case err := <-hold:
				return []byte("c"), nil, err
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
	})
	s := connect(t, b, caller(1, "A"))
	req := CompileRequest{Files: Files{{Name: "m", Data: []byte("x")}}}
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() { _, err := s.Compile(ctx, req); gaveUp <- err }()
	<-begun
	var wg sync.WaitGroup
	var cached atomic.Int32
	for range 6 {
		wg.Go(func() {
			r, err := s.Compile(t.Context(), req)
			if err != nil {
				t.Error(err)
			} else if r.Cached {
				cached.Add(1)
			}
		})
	}
	cancel()
	refused(t, <-gaveUp, Aborted)
	<-begun
	hold <- nil
	wg.Wait()
	if runs.Load() != 2 || cached.Load() != 5 {
		t.Errorf("%d compilations and %d hits, wanted 2 and 5", runs.Load(), cached.Load())
	}
	go func() { hold <- errors.New("no such operation") }()
	_, err := s.Compile(t.Context(), CompileRequest{Files: Files{{Name: "m", Data: []byte("y")}}})
	refused(t, err, Failed)
}

// TestPurgeDropsRunningCompilations checks that a model which is being compiled when its partition is purged is not
// kept.
func TestPurgeDropsRunningCompilations(t *testing.T) {
	begun, hold := make(chan struct{}, 10), make(chan struct{})
	b, _ := room(t, func(c *Config) {
		c.Compile = func(context.Context, CompileRequest) ([]byte, []byte, error) {
			begun <- struct{}{}
			<-hold
			return []byte("c"), nil, nil
		}
	})
	s := connect(t, b, caller(1, "A"))
	req := CompileRequest{Files: Files{{Name: "m", Data: []byte("x")}}}
	done := make(chan error)
	go func() { _, err := s.Compile(t.Context(), req); done <- err }()
	<-begun
	if p, err := s.Purge(t.Context(), PurgeRequest{}); err != nil || p.Models != 0 {
		t.Errorf("purge: %+v, %v", p, err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if r := b.Report(); r.CachedModels != 0 || r.CachedBytes != 0 {
		t.Errorf("%d models of %d bytes are kept", r.CachedModels, r.CachedBytes)
	}
	if c, err := s.Compile(t.Context(), req); err != nil || c.Cached {
		t.Errorf("compiling again: %v", err)
	}
	<-begun
}

// TestCompilerPanicFailsItsCaller checks that other callers continue.
func TestCompilerPanicFailsItsCaller(t *testing.T) {
	b, _ := room(t, func(c *Config) {
		c.Limits.CacheBytes = 10
		c.Compile = func(_ context.Context, r CompileRequest) ([]byte, []byte, error) {
			return make([]byte, r.Files[0].Data[0]), nil, nil
		}
	})
	s := connect(t, b, caller(1, "A"))
	file := func(d ...byte) CompileRequest { return CompileRequest{Files: Files{{Name: "m", Data: d}}} }
	_, err := s.Compile(t.Context(), file())
	refused(t, err, Failed)
	// The cache keeps the most recently used entries that fit.
	for _, x := range []struct {
		n      byte
		cached bool
	}{{6, false}, {4, false}, {6, true}, {3, false}, {6, true}, {4, false}, {11, false}, {11, false}, {6, false}} {
		c, err := s.Compile(t.Context(), file(x.n))
		if err != nil || c.Cached != x.cached {
			t.Errorf("%d bytes: cached %v, %v", x.n, c.Cached, err)
		}
	}
}
