package protocol

import (
	"errors"
	"runtime"
	"sync"
	"testing"
)

// TestConcurrentMessagesAreCounted posts from many goroutines on both channels while the firmware takes, completes,
// recycles and notifies; every message is counted once.
func TestConcurrentMessagesAreCounted(t *testing.T) {
	var traced sync.Map
	c := controller(t, Config{ControlSlots: 16, CacheRequests: 8, Trace: func(d *Delivery) { traced.Store(d, true) }})
	bindLoop(t, c)
	const clients, each = 8, 50
	callBytes := (&LoopMessage{
		Header: LoopHeader{Wire: 0x204, Priority: 2},
		Body:   call(variant(t, IDProcedureCall)),
	}).Bytes()
	install, err := New(Logger, &Rows[IDCacheInstall], Header{}, &CacheCall{Call: *call(variant(t, IDCacheInstall))})
	if err != nil {
		t.Fatal(err)
	}
	var posters, takers sync.WaitGroup
	stop := make(chan struct{})
	take := func(ch Channel) {
		for {
			d, ok := c.Next(ch)
			if !ok {
				select {
				case <-c.Endpoint(ch).Bell():
				case <-stop:
					if _, more := c.Endpoint(ch).Take(); more {
						t.Error("stopped with messages left")
					}
					return
				}
				continue
			}
			if d.Err != nil {
				t.Error(d.Err)
				continue
			}
			if d.Request != nil {
				h := d.Request.Handler
				if _, err := c.Cache().Trigger(&Trigger{Handler: h, Timestamp: 1}); err != nil {
					t.Error(err)
				}
				if err := c.Cache().Complete(h); err != nil {
					t.Error(err)
				}
				if err := c.Cache().Invalidate(h); err != nil {
					t.Error(err)
				}
			}
		}
	}
	for _, ch := range []Channel{Control, Loop} {
		takers.Go(func() { take(ch) })
	}
	for range clients {
		for ch, msg := range map[Channel][]byte{Control: install.Bytes(), Loop: callBytes} {
			posters.Go(func() {
				for n := 0; n < each; {
					switch err := c.Post(ch, msg); {
					case err == nil:
						n++
					case errors.Is(err, ErrFull):
						runtime.Gosched()
					default:
						t.Error(err)
						return
					}
				}
			})
		}
	}
	posters.Wait()
	for counted(c, "PROCEDURE_CALL", Ran) < clients*each || counted(c, "PROCEDURE_CALL_CACHE_REQUEST",
		Ran) < clients*each {
		if t.Failed() {
			break
		}
		runtime.Gosched()
	}
	close(stop)
	takers.Wait()
	if c.Cache().Free() != 8 {
		t.Errorf("%d cache requests free, want 8", c.Cache().Free())
	}
	n := 0
	traced.Range(func(any, any) bool { n++; return true })
	if n != 2*clients*each+1 {
		t.Errorf("%d deliveries traced, want %d", n, 2*clients*each+1)
	}
}

func BenchmarkCall(b *testing.B) {
	c := controller(b, Config{})
	bindLoop(b, c)
	msg := (&LoopMessage{Header: LoopHeader{Wire: 0x204}, Body: call(variant(b, IDProcedureCall))}).Bytes()
	for b.Loop() {
		if err := c.Post(Loop, msg); err != nil {
			b.Fatal(err)
		}
		if d, _ := c.Next(Loop); d.Err != nil {
			b.Fatal(d.Err)
		}
	}
}
