package trace_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

func TestNilTracerRecordsNothing(t *testing.T) {
	var tr *trace.Tracer
	if tr.On() {
		t.Error("a nil tracer says that it is on")
	}
	tr.Emit(trace.Event{Name: "x"})
}

func sample() []trace.Event {
	var r trace.Recording
	r.MaxData = 20
	tr := r.Tracer()
	tr.Emit(trace.Event{
		Layer:   trace.Driver,
		Phase:   trace.Begin,
		Name:    "ANE_ProgramSendRequest",
		At:      41 * time.Microsecond,
		Client:  3,
		Request: 7,
		Data:    make([]byte, 24),
	})
	tr.Emit(trace.Event{
		Layer:  trace.Firmware,
		Name:   "CSNE_CMD_PROCEDURE_CALL",
		At:     43500 * time.Nanosecond,
		Client: 3,
		Args:   []trace.Arg{{Key: "Pri", Value: 2}, {Key: "took", Value: 130 * time.Microsecond}},
	})
	tr.Emit(trace.Event{
		Layer:   trace.Driver,
		Phase:   trace.End,
		Name:    "ANE_ProgramSendRequest",
		At:      190 * time.Microsecond,
		Client:  3,
		Request: 7,
		Err:     "kIOReturnTimeout",
	})
	return r.Events
}

func TestChromeTracesAreReproducible(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := trace.WriteChrome(w, sample(), map[string]string{"model": "m"}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("equal events are written differently")
	}
	var f struct {
		OtherData   map[string]string
		TraceEvents []struct {
			Name, Ph string
			TS       float64
			PID, TID int
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(a.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if f.OtherData["model"] != "m" {
		t.Errorf("otherData is %v", f.OtherData)
	}
	var phases string
	for _, e := range f.TraceEvents {
		if e.Ph != "M" {
			phases += e.Ph
		}
		if e.Name == "CSNE_CMD_PROCEDURE_CALL" && (e.TS != 43.5 || e.PID != 3 || e.TID != int(trace.Firmware) ||
			e.Args["took"] != "130µs") {
			t.Errorf("the command is %+v", e)
		}
		if e.Ph == "B" && (e.Args["bytes"] != 24.0 || len(e.Args["data"].(string)) != 40) {
			t.Errorf("data of 24 bytes cut at 20 gives %v", e.Args)
		}
	}
	if phases != "BiE" {
		t.Errorf("phases are %q", phases)
	}
}

func TestTextShowsCallsAndBytes(t *testing.T) {
	var b strings.Builder
	if err := trace.WriteText(&b, sample(), true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"> ANE_ProgramSendRequest", "Pri=2 took=130µs",
		"< ANE_ProgramSendRequest: kIOReturnTimeout", "000010  00 00 00 00"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestEventsAreNumberedInOrder(t *testing.T) {
	var r trace.Recording
	tr := r.Tracer()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				tr.Emit(trace.Event{Name: "e"})
			}
		})
	}
	wg.Wait()
	for i, e := range r.Events {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has number %d", i, e.Seq)
		}
	}
}
