package driver

import (
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// BenchmarkDispatch measures one dispatch of the chapter's tiny graph from the user space front end to the engine and
// back.
func BenchmarkDispatch(b *testing.B) {
	for _, g := range []struct {
		name  string
		graph func(testing.TB) []byte
	}{{"tiny", tiny}, {"adder", adder}} {
		b.Run(g.name, func(b *testing.B) { benchmark(b, g.graph(b)) })
	}
}

func benchmark(b *testing.B, container []byte) {
	d := newDevice(b, Config{})
	s := open(b, d, broker(1))
	m := prepared(b, s, container, PrepareOptions{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.SendRequest(&m.req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStructs decodes and encodes a struct of words and one with 128 records.
func BenchmarkStructs(b *testing.B) {
	b.Run("prepare", func(b *testing.B) {
		b.ReportAllocs()
		p, args := make([]byte, prepareStruct.size), new(prepareArgs)
		for range b.N {
			if err := prepareStruct.decode(p, args); err != nil {
				b.Fatal(err)
			}
			prepareStruct.encode(p, args)
		}
	})
	b.Run("inputs ready", func(b *testing.B) {
		b.ReportAllocs()
		p, args := make([]byte, inputsReadyIn.size), new(inputsReadyArgs)
		for range b.N {
			if err := inputsReadyIn.decode(p, args); err != nil {
				b.Fatal(err)
			}
			inputsReadyIn.encode(p, args)
		}
	})
}

// TestStepsNeedNoMemoryWhileTracingIsOff counts allocations of a step and of a note.
func TestStepsNeedNoMemoryWhileTracingIsOff(t *testing.T) {
	d := newDevice(t, Config{})
	traced := func() (err error) {
		defer d.trace.Step("step", 1, 2, trace.Number("bytes", 1<<30), trace.Bool("warm", true)).End(&err)
		d.trace.Note("note", 1, 2, trace.Number("bytes", 1<<30))
		return nil
	}
	if n := testing.AllocsPerRun(100, func() { _ = traced() }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
