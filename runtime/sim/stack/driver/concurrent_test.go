package driver

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// TestConcurrentClientsComplete has 64 clients with mixed models and all priorities submit at once, some waiting and
// some at their wake ports: all complete with the right bytes, and at no dequeue does a more urgent request wait.
func TestConcurrentClientsComplete(t *testing.T) {
	const clients, requests = 64, 12
	var mu sync.Mutex
	waiting := map[uint64]uint64{} // priority of the actions that wait
	var wrong int
	tr := trace.New(func(e trace.Event) {
		if e.Name != "ANEScheduler::enqueue" && e.Name != "ANEScheduler::dequeue" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		p, id := e.Args[0].Value.(uint64), e.Args[1].Value.(uint64)
		if e.Name == "ANEScheduler::enqueue" {
			waiting[id] = p
			return
		}
		delete(waiting, id)
		for _, o := range waiting {
			if o < p {
				wrong++
			}
		}
	})
	d := newDevice(t, Config{Trace: tr})
	graphs := []func(testing.TB) []byte{tiny, adder, pair}
	models := make([]*model, clients)
	expect := make([][][]byte, clients)
	for i := range models {
		models[i] = prepared(t, open(t, d, broker(i+1)), graphs[i%len(graphs)](t), PrepareOptions{})
		expect[i] = models[i].direct(t)
	}
	var group sync.WaitGroup
	errs := make(chan error, clients)
	for i, m := range models {
		group.Go(func() { errs <- submit(m, i, requests) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	for i, m := range models {
		m.same(t, expect[i])
	}
	if wrong > 0 {
		t.Errorf("%d requests began while a more urgent one waited", wrong)
	}
	if len(waiting) != 0 {
		t.Errorf("%d actions wait", len(waiting))
	}
	poolsBusy(t, d, clients)
	if n := d.Coprocessor().Stats().Completed; n != clients*requests {
		t.Errorf("%d calls completed, want %d", n, clients*requests)
	}
	var all []*Services
	for _, m := range models {
		all = append(all, m.s)
	}
	closeAll(t, d, all...)
}

// submit sends requests of a client, every third at a wake port.
func submit(m *model, i, n int) error {
	port, arrived := newPort(n)
	out := 0
	for k := range n {
		var err error
		r := m.req
		r.Priority = uint32((i + k) % 8)
		if k%3 == 0 {
			err = m.s.SendRequestAsync(&r, port, [ReferenceSize]byte{byte(k)})
			out++
		} else {
			_, err = m.s.SendRequest(&r)
		}
		if err != nil {
			return fmt.Errorf("client %d, request %d: %w", i, k, err)
		}
	}
	for range out {
		if c := <-arrived; c.Result != Success {
			return fmt.Errorf("client %d: completion %v", i, c.Result)
		}
	}
	return nil
}

// TestConcurrentLifecycle opens, loads, runs, sleeps and closes from many
// goroutines, with faults between: every call ends, with success or a code, and
// nothing is left.
func TestConcurrentLifecycle(t *testing.T) {
	in := injector(t, "exception@task:every=17,count=3; drop@post:every=41,count=2", 5)
	d := newDevice(t, Config{Inject: in})
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for k := range 3 {
				s, err := d.OpenServices(broker(i + 1))
				if err != nil {
					continue
				}
				if h, err := s.ProgramCreate(adder(t)); err == nil {
					if info, err := s.Prepare(h, PrepareOptions{}); err == nil {
						m := bound(t, s, h, info, adder(t))
						for range 3 {
							if _, err := s.SendRequest(&m.req); err != nil {
								var e *Error
								if !errors.As(err, &e) {
									t.Errorf("no return code: %v", err)
								}
							}
						}
						_, _ = s.CreateInstance(h, PrepareOptions{})
						if k == 1 {
							_ = s.Unprepare(h)
						}
					}
				}
				if i == 0 {
					_ = d.Sleep()
				}
				d.Status()
				s.Close()
			}
		})
	}
	group.Wait()
	closeAll(t, d)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, r := d.NewUserClient(broker(1), ControlClient); r != Closed {
		t.Errorf("a client of a closed device: %v", r)
	}
}

// TestCloseWhileWaiting closes a client whose requests wait at the gate: they end
// as aborted.
func TestCloseWhileWaiting(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	port, arrived := newPort(4)
	done := make(chan struct{})
	held(t, d, func() {
		for range 4 {
			r := m.req
			r.Priority = 7
			if err := s.SendRequestAsync(&r, port, [ReferenceSize]byte{}); err != nil {
				t.Fatal(err)
			}
		}
		go func() { s.Close(); close(done) }()
		for s.client.(*client).token.Load() != 0 {
		}
	})
	<-done
	for range 4 {
		if c := <-arrived; c.Result != Aborted {
			t.Errorf("completion %v", c.Result)
		}
	}
	closeAll(t, d)
}
