package stack_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// TestModelIsCompiledOnceAndDispatchedManyTimes runs a model five times as zinc run does, and reads from the trace
// which calls of the runtime were made: the compile phase's once, all before the first of the dispatch
// phase, whose calls are made for each run. The names are the chapter's. Reading the output is not a call.
// Table 2.1.
func TestModelIsCompiledOnceAndDispatchedManyTimes(t *testing.T) {
	const frames = 5
	events := &trace.Recording{}
	_, p := machine(t, stack.Options{Trace: events.Tracer()})
	lowered := 0
	m, err := p.Compile(t.Context(), "e5rt/testdata/tiny.mil", e5rt.CompilerConfig{
		Compile: func(_ context.Context, path string) (pair.Pair, error) { lowered++; return compiled(t, path), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	for range frames {
		if _, err := m.Run(t.Context(), inputs(t, m.Machine(), 1)); err != nil {
			t.Fatal(err)
		}
	}
	calls := map[string]int{}
	last := map[string]int{} // event
	first := map[string]int{}
	for i, e := range events.Events {
		if e.Layer != trace.E5RT || e.Phase == trace.End {
			continue
		}
		if calls[e.Name]++; calls[e.Name] == 1 {
			first[e.Name] = i
		}
		last[e.Name] = i
	}
	const encode = "e5rt_execution_stream_encode_operation"
	for name, want := range map[string]int{
		"e5rt_e5_compiler_compile":                     1,
		"e5rt_program_library_retain_program_function": 1,
		"e5rt_program_function_load_for_execution":     1,
		encode:                               frames,
		"e5rt_execution_stream_execute_sync": frames,
	} {
		if calls[name] != want {
			t.Errorf("%s: %d calls in %d runs, want %d", name, calls[name], frames, want)
		}
		if want == 1 && last[name] > first[encode] {
			t.Errorf("%s is called in the loop", name)
		}
	}
	if lowered != 1 {
		t.Errorf("the model was lowered %d times", lowered)
	}
	for _, c := range e5rt.Calls {
		if n := calls[c.Name]; n > 0 && c.Phase == e5rt.CompilePhase && last[c.Name] > first[encode] {
			t.Errorf("%s is a call of the compile phase and is made in the loop", c.Name)
		} else if n > 0 && c.Phase == e5rt.DispatchPhase && n != frames {
			t.Errorf("%s is a call of the dispatch phase and is made %d times in %d runs", c.Name, n, frames)
		}
	}
}

// TestProgramExistsInThreeForms finds the three forms of one program: the descriptor, whose size does not grow with the
// tensors, the program image, and below the host boundary the firmware container that a load makes from it.
// Table 2.2.
func TestProgramExistsInThreeForms(t *testing.T) {
	small, wide := compiled(t, "e5rt/testdata/tiny.mil"), compiled(t, "e5rt/testdata/tinywide.mil")
	for _, pair := range [][]byte{small.Container, wide.Container} {
		f, err := hwx.Read(pair)
		if err != nil {
			t.Fatal(err)
		}
		p, err := loader.Read(pair)
		if err != nil {
			t.Fatal(err)
		}
		d, err := driver.NewDevice(driver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.Load(d.Unit().Context(1), "test")
		if err != nil {
			t.Fatal(err)
		}
		fw, err := afpp.Read(l.Firmware())
		if err != nil {
			t.Fatal(err)
		}
		prog := fw.Programs[0]
		if len(fw.Programs) != 1 || len(prog.Procedures) != len(f.Procedures()) || len(prog.Text.Records) == 0 ||
			len(prog.Operations) == 0 || prog.Generic.Container != sha256.Sum256(pair) {
			t.Errorf("the firmware container has %d programs, %d procedures, %d records, %d operations",
				len(fw.Programs), len(prog.Procedures), len(prog.Text.Records), len(prog.Operations))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if a, b := len(small.Descriptor), len(wide.Descriptor); b > a+64 {
		t.Errorf("the descriptor grows from %d to %d bytes with the tensors", a, b)
	}
	d, err := e5.Read(small.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	inferences := 0
	for _, b := range d.Functions[0].Blocks {
		for _, op := range b.Operations {
			if _, ok := op.Attrs.(*e5.AneInferenceAttrs); ok {
				inferences++
			}
		}
	}
	if inferences != 1 {
		t.Errorf("the fused graph has %d inferences, want one between its casts", inferences)
	}
}

// longer returns how much longer than the chapter's the fitted dispatch of the simulated machine is.
func longer() time.Duration {
	return time.Duration(cost.Overhead(cost.Simulated)) - 190*time.Microsecond
}

// TestTraceHasTheStagesOfADispatch reads the stages of one dispatch from its trace: the cost of a call is the time from
// the binding to the completion, about 190 us.
// Table 2.3.
func TestTraceHasTheStagesOfADispatch(t *testing.T) {
	pair := compiled(t, "e5rt/testdata/tiny.mil")
	events := &trace.Recording{}
	_, p := machine(t, stack.Options{Trace: events.Tracer()})
	m := load(t, p, pair)
	in := inputs(t, m.Machine(), 1)
	if _, err := m.Run(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	from := len(events.Events)
	if _, err := m.Run(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	at := map[string]time.Duration{}
	interrupts := 0
	for _, e := range events.Events[from:] {
		if e.Layer == trace.Driver && e.Name == "interrupt" {
			interrupts++
		}
		key := e.Layer.String() + " " + e.Name
		if e.Phase == trace.End {
			key += " end"
		}
		if _, ok := at[key]; !ok {
			at[key] = e.At
		}
	}
	us := func(x float64) time.Duration { return time.Duration(x * float64(time.Microsecond)) }
	for _, s := range []struct {
		stage    string
		from, to string
		low, up  time.Duration
	}{
		{stage: "user-space binding and copies", from: "e5rt e5rt_execution_stream_execute_sync",
			to: "broker evaluate", low: us(25), up: us(26)},
		{stage: "building the request", from: "driver ANEDriver::ANE_ProgramSendRequest",
			to: "driver ANEHWDevice::doorBellRing", low: us(16), up: us(16)},
		{stage: "firmware kick", from: "driver ANEHWDevice::doorBellRing", to: "protocol CSNE_CMD_PROCEDURE_CALL",
			low: us(2), up: us(3)},
		{stage: "firmware round trip", from: "protocol CSNE_CMD_PROCEDURE_CALL", to: "protocol CSNE_CMD_PROGRAM_EVENT",
			low: us(130), up: us(131)},
		{stage: "completion", from: "protocol CSNE_CMD_PROGRAM_EVENT",
			to: "driver ANEDriver::ANE_ProgramSendRequest end", low: us(10), up: us(10)},
		{stage: "submission, entry to return", from: "driver ANE_ProgramSendRequest",
			to: "driver ANE_ProgramSendRequest end", low: us(162), up: us(164)},
		// The chapter measured 190 us on an M1 Max. An M1 takes as much longer to return as its fitted dispatch is.
		{stage: "the whole call", from: "e5rt e5rt_execution_stream_execute_sync",
			to: "e5rt e5rt_execution_stream_execute_sync end", low: us(190) + longer(), up: us(192) + longer()},
	} {
		a, ok := at[s.from]
		b, ok2 := at[s.to]
		if !ok || !ok2 {
			t.Errorf("%s: the trace has no %q or no %q", s.stage, s.from, s.to)
			continue
		}
		if d := b - a; d < s.low || d > s.up {
			t.Errorf("%s takes %v, want %v to %v", s.stage, d, s.low, s.up)
		}
	}
	if interrupts != 2 {
		t.Errorf("%d interrupts in an inference, the chapter counts about two", interrupts)
	}
	spent := m.Spent()
	call := spent.Call()
	if software := float64(call-spent.Engine()) / float64(call); software < 0.975 || software > 0.985 {
		t.Errorf("%.3f of the call is software, the chapter measured about 98 %%", software)
	}
}
