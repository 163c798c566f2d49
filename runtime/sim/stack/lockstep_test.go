package stack_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// inLockstep runs clients with seats on a machine of their own, each with its own pauses in host time, and returns the
// trace.
func inLockstep(t *testing.T, seats, requests int, pauses uint64) []byte {
	t.Helper()
	events := &trace.Recording{MaxData: 1}
	s, err := stack.New(stack.Options{Workers: 1, Trace: events.Tracer(), Seats: seats})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	p := compiled(t, "e5rt/testdata/tiny.mil")
	var wg sync.WaitGroup
	for seat := 1; seat <= seats; seat++ {
		wg.Go(func() {
			host := rand.New(rand.NewPCG(pauses, uint64(seat)))
			pause := func() { time.Sleep(time.Duration(host.IntN(300)) * time.Microsecond) }
			pause()
			id := stack.Self()
			id.Seat = seat
			c, err := stack.Dial(t.Context(), socket, id, broker.QoSClasses[3+seat%3].QoS, stack.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			own, err := sim.Open(p)
			if err != nil {
				t.Error(err)
				return
			}
			m, err := c.Load(t.Context(), own)
			if err != nil {
				t.Error(err)
				return
			}
			in := inputs(t, own, uint64(seat))
			for i := range requests {
				pause()
				c.Think(time.Duration(seat*i%7) * 100 * time.Microsecond)
				if _, err := m.Run(t.Context(), in); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(<-served, s.Close()); err != nil { // it ends with the last client
		t.Error(err)
	}
	var out bytes.Buffer
	if err := trace.WriteText(&out, events.Events, false); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestClientsInLockstepHaveTheSameTimes runs the same clients three times with other pauses in host time: order and
// virtual time of all events are the same, and requests wait for each other.
func TestClientsInLockstepHaveTheSameTimes(t *testing.T) {
	want := inLockstep(t, 6, 12, 1)
	for pauses := uint64(2); pauses < 4; pauses++ {
		if err := stack.Difference(want, inLockstep(t, 6, 12, pauses)); err != nil {
			t.Fatal(err)
		}
	}
	// Requests that are queued while another one has not returned wait for it.
	requests, under, waited := 0, 0, 0
	for line := range strings.Lines(string(want)) {
		switch {
		case strings.Contains(line, "> ANEDriver::ANE_ProgramSendRequest"):
			under++
		case strings.Contains(line, "< ANEDriver::ANE_ProgramSendRequest"):
			under--
		case strings.Contains(line, "ANEClientDevice::programSendRequest"):
			requests++
			waited += under
		}
	}
	if requests != 6*12 || waited == 0 {
		t.Errorf("the trace has %d requests, of which %d waited for another one; want %d, and some that waited",
			requests, waited, 6*12)
	}
}

// TestSeatsAreTakenOnce checks that a seat has one client, and that a client without a seat may only look.
func TestSeatsAreTakenOnce(t *testing.T) {
	s, err := stack.New(stack.Options{Seats: 1})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(l) }() // its end is not awaited
	defer s.Close()
	at := func(seat int) (*broker.Remote, error) {
		id := stack.Self()
		id.Seat = seat
		return broker.Dial(t.Context(), socket, id)
	}
	looking, err := at(0)
	if err != nil {
		t.Fatal(err)
	}
	defer looking.Close()
	if _, err := looking.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := looking.Purge(t.Context(), broker.PurgeRequest{}); err == nil ||
		!strings.Contains(err.Error(), "connect with a seat") {
		t.Errorf("a call without a seat: %v", err)
	}
	first, err := at(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, seat := range []int{1, 2, -1} {
		if _, err := at(seat); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("seat %d is not free", seat)) {
			t.Errorf("seat %d: %v", seat, err)
		}
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
}
