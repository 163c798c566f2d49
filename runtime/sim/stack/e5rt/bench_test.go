package e5rt_test

import (
	"context"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// loop is the loop of listing 2.4.
func loop(tb testing.TB, d *bed) {
	if d.op.PrepareOpForEncode() != nil || d.stream.EncodeOperation(d.op) != nil ||
		d.stream.ExecuteSync(context.Background()) != nil || d.stream.Reset() != nil {
		tb.Fatal("the loop failed")
	}
}

// BenchmarkDispatch measures one dispatch of the chapter's tiny graph (a 3x3 convolution of 8 channels to 8 with
// padding 1, relu, mean): with the engine's simulator driven directly, and with an engine that does nothing, which
// shows the share of this package and the chain of casts.
func BenchmarkDispatch(b *testing.B) {
	for _, c := range []struct {
		name string
		o    e5rt.Options
	}{{"direct", e5rt.Options{Workers: 1}}, {"e5rt alone", e5rt.Options{Engine: &fakeEngine{}}}} {
		b.Run(c.name, func(b *testing.B) {
			d := newBed(b, newRuntime(b, c.o), "testdata/tiny.mil")
			b.ReportAllocs()
			for b.Loop() {
				loop(b, d)
			}
		})
	}
}

// The loop itself, and the chain around the engine, allocate nothing.
func TestDispatchAllocatesNothing(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{Engine: &fakeEngine{}}), "testdata/tiny.mil")
	loop(t, d)
	if n := testing.AllocsPerRun(100, func() { loop(t, d) }); n != 0 {
		t.Errorf("%g allocations a dispatch", n)
	}
}
