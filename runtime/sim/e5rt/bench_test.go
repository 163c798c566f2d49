package e5rt_test

import (
	"context"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/e5rt"
)

// BenchmarkDispatch is one dispatch of the chapter's tiny graph (a 3x3 convolution of
// 8 channels to 8 with padding 1, relu, mean) with the engine driven directly: the
// loop of listing 2.4.
func BenchmarkDispatch(b *testing.B) {
	d := newBed(b, newRuntime(b, e5rt.Options{Workers: 1}), "testdata/tiny.mil")
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if d.op.PrepareOpForEncode() != nil || d.stream.EncodeOperation(d.op) != nil || d.stream.ExecuteSync(ctx) != nil || d.stream.Reset() != nil {
			b.Fatal("the loop failed")
		}
	}
}
