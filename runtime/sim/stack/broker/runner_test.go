package broker

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// runner is a runner as a machine's dispatcher.
type runner struct{ *Runner }

func (r runner) Chain(ctx context.Context, segments []sim.Segment) error {
	out := make([]Segment, len(segments))
	for i, s := range segments {
		out[i] = Segment(s)
	}
	return r.Runner.Chain(ctx, out)
}

// TestPairsRunThroughTheBroker runs compiled pairs whose engine inferences go through the broker, in its process and
// over a socket: the outputs equal the outputs of the engine driven directly, bit for bit. The second model has more
// tensors than a procedure has registers, so its three procedures are one request.
func TestPairsRunThroughTheBroker(t *testing.T) {
	g := irbuild.New(3)
	x := g.Input(1, 8, 16, 16)
	y := g.Op("relu", "x", g.Op("conv", "x", x, "weight", g.Weights(8, 8, 3, 3), "pad_type", "same"))
	z := g.Op("softmax", "x", g.Op("reshape", "x", g.Op("reduce_mean", "x", y, "axes", []int{2, 3}, "keep_dims", true),
		"shape", []int{1, 8}), "axis", -1)
	g.Output(y, z)
	runThroughTheBroker(t, g)
	g = irbuild.New(4)
	sum := g.Input(1, 8, 16, 16)
	for range 63 {
		sum = g.Op("add", "x", sum, "y", g.Input(1, 8, 16, 16))
	}
	g.Output(sum)
	runThroughTheBroker(t, g)
}

func runThroughTheBroker(t *testing.T, g *irbuild.Graph) {
	t.Helper()
	res, err := compile.All(t.Context(), g.Program(), compile.Options{
		Target: target.H13, SplitKernel: true, Place: passes.PlaceEngine,
	})
	if err != nil {
		t.Fatal(err)
	}
	container, err := hwx.Encode(res.HWX)
	if err != nil {
		t.Fatal(err)
	}
	descriptor, err := e5.Bytes(res.E5)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sim.Open(pair.Pair{Container: container, Descriptor: descriptor})
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]interp.Tensor{}
	for i, p := range m.Inputs() {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		x, err := interp.Zeros(p.Type)
		if err != nil {
			t.Fatal(err)
		}
		vs := make([]float32, x.Elems())
		for k := range vs {
			vs[k] = float32(r.NormFloat64())
		}
		if inputs[p.Name], err = interp.FromFloats(p.Type.DType, vs, 1, 8, 16, 16); err != nil {
			t.Fatal(err)
		}
	}
	run := func(d sim.Dispatcher) map[string]interp.Tensor {
		t.Helper()
		out, err := m.Run(t.Context(), inputs, sim.Options{Numerics: numerics.ANE, Dispatcher: d})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := run(nil)
	b, _ := machine(t, nil)
	path := listen(t, b)
	for what, c := range map[string]Client{
		"in process":    connect(t, b, caller(1, "A")),
		"over a socket": dial(t, path, caller(2, "A")),
	} {
		r, err := Open(t.Context(), c, LoadRequest{Container: container}, InstanceRequest{QueueDepth: 2})
		if err != nil {
			t.Fatal(err)
		}
		if r.Instance().QueueDepth != 2 {
			t.Errorf("%s: queue depth %d", what, r.Instance().QueueDepth)
		}
		for range 2 {
			got := run(runner{r})
			for name := range want {
				if !bytes.Equal(got[name].Data, want[name].Data) {
					t.Errorf("%s: output %q differs from the engine driven directly", what, name)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := r.Dispatch(t.Context(), "", nil); !isCode(err, NotFound) {
			t.Errorf("%s: dispatch after Close: %v", what, err)
		}
	}
}
