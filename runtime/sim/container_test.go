package sim_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// golden reads a container that Apple's compiler wrote.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", name+".hwx"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// half rounds to fp16.
func half(v float64) float64 { return float64(float16.Fromfloat32(float32(v)).Float32()) }

// constHalves are the constants of a container as fp16 values.
func constHalves(t *testing.T, container []byte) []float64 {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	b := f.ConstantBytes()
	out := make([]float64, len(b)/2)
	for i := range out {
		out[i] = float64(float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32())
	}
	return out
}

// runAlone runs a container on values on a grid of 1/64 within +-spread, on which sums and small products are exact,
// and returns inputs and outputs as float64.
func runAlone(t *testing.T, container []byte, seed uint64, spread float64) (in, out map[string][]float64) {
	t.Helper()
	m, err := sim.Open(pair.Pair{Container: container})
	if err != nil {
		t.Fatal(err)
	}
	in, out = map[string][]float64{}, map[string][]float64{}
	tensors := map[string]interp.Tensor{}
	for i, p := range m.Inputs() {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		vs := make([]float32, p.Type.Elems())
		for k := range vs {
			vs[k] = float32(math.Round((2*r.Float64()-1)*spread*64) / 64)
			in[p.Name] = append(in[p.Name], float64(vs[k]))
		}
		if tensors[p.Name], err = interp.FromFloats(ir.FP16, vs, p.Type.Shape...); err != nil {
			t.Fatal(err)
		}
	}
	got, err := m.Run(context.Background(), tensors, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range got {
		for _, v := range x.Floats32() {
			out[name] = append(out[name], float64(v))
		}
	}
	return in, out
}

// TestAppleContainersRun runs the five containers that Apple's compiler wrote and compares with arithmetic written out
// here.
func TestAppleContainersRun(t *testing.T) {
	// conv is a 1x1 convolution of three channels to three: core c computes only output c, so its part is its three
	// weights, padded to 64 bytes.
	conv := func(t *testing.T, container []byte, in map[string][]float64) []float64 {
		w, x := constHalves(t, container), in["image"]
		out := make([]float64, 3)
		for co := range out {
			for ci := range x {
				out[co] += w[32*co+ci] * x[ci]
			}
			out[co] = half(out[co])
		}
		return out
	}
	for _, c := range []struct {
		name   string
		spread float64
		count  int
		want   func(t *testing.T, container []byte, in map[string][]float64) []float64
	}{
		{name: "relu", spread: 8, count: 77, want: func(_ *testing.T, _ []byte, in map[string][]float64) []float64 {
			out := slices.Clone(in["image"])
			for i, v := range out {
				out[i] = max(0, v)
			}
			return out
		}},
		{name: "sum", spread: 8, count: 64, want: func(_ *testing.T, _ []byte, in map[string][]float64) []float64 {
			out := slices.Clone(in["image"])
			for i, v := range in["image2"] {
				out[i] = half(out[i] + v)
			}
			return out
		}},
		{name: "conv", spread: 4, count: 3, want: conv},
		{name: "conv3", spread: 4, count: 3, want: conv},
		{name: "sigmoid", spread: 14, count: 77, want: func(t *testing.T, container []byte,
			in map[string][]float64) []float64 {
			table := constHalves(t, container)
			var out []float64
			for _, x := range in["image"] {
				out = append(out, half(sigmoidTable(t, table, x)))
			}
			return out
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			container := golden(t, c.name)
			for seed := range uint64(8) {
				in, out := runAlone(t, container, seed, c.spread)
				want := c.want(t, container, in)
				got := out["probs@output"]
				if len(got) != c.count || len(want) != c.count {
					t.Fatalf("%d values, reference has %d, want %d", len(got), len(want), c.count)
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("seed %d: element %d is %v, want %v", seed, i, got[i], want[i])
					}
				}
			}
		})
	}
}

// TestAppleContainersHaveTheirWeights checks that the convolution which was compiled with a file of twos multiplies
// with twos.
func TestAppleContainersHaveTheirWeights(t *testing.T) {
	file, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "twos.weights"))
	if err != nil {
		t.Fatal(err)
	}
	in, out := runAlone(t, golden(t, "conv"), 5, 4)
	for co, got := range out["probs@output"] {
		want := 0.0
		for ci, x := range in["image"] {
			want += x * float64(float16.Frombits(binary.LittleEndian.Uint16(file[2*(3*co+ci):])).Float32())
		}
		if got != half(want) {
			t.Errorf("output %d is %v, want %v", co, got, half(want))
		}
	}
}

// whole is the bit pattern of an fp16 value: the table contains whole numbers too.
func whole(v float64) int { return int(float16.Fromfloat32(float32(v)).Bits()) }

// sigmoidTable evaluates a table of mode 1 at x, before rounding.
func sigmoidTable(t *testing.T, h []float64, x float64) float64 {
	t.Helper()
	if mode := whole(h[42]); mode != 1 {
		t.Fatalf("table of mode %d, want 1", mode)
	}
	step := math.Exp2(-float64(whole(h[41])))
	at := (x + 16*step) / step
	switch {
	case x <= h[0]:
		return h[2]
	case x >= h[1]:
		return h[3]
	case at < 0:
		return h[37]*x + h[38]
	case at >= 32:
		return h[39]*x + h[40]
	}
	i := int(at)
	return h[4+i] + (h[5+i]-h[4+i])*(at-float64(i))
}

// TestAppleSigmoidIsAccurate checks that the result is the sigmoid within the error of a table of 33 knots: between
// knots the bound of linear interpolation, h*h/8 * max|f”|, and half a unit in the last place of the knots and of the
// result.
func TestAppleSigmoidIsAccurate(t *testing.T) {
	container := golden(t, "sigmoid")
	table := constHalves(t, container)
	step := math.Exp2(-float64(whole(table[41])))
	bound := step*step/8*0.0963 + 2*math.Exp2(-12)
	in, out := runAlone(t, container, 3, 16*step)
	for i, x := range in["image"] {
		want := 1 / (1 + math.Exp(-x))
		if d := math.Abs(out["probs@output"][i] - want); d > bound {
			t.Errorf("sigmoid(%v) = %v, %v off; the bound is %v", x, out["probs@output"][i], d, bound)
		}
	}
}

// TestContainersRunWithoutDescriptor checks that containers that zinc writes, with short records and either place of
// the constants, compute the same with and without a descriptor.
func TestContainersRunWithoutDescriptor(t *testing.T) {
	for name, build := range map[string]func(g *irbuild.Graph){
		"matmul":         product{x: []int64{33, 48}, y: []int64{48, 100}, constY: true}.build,
		"runtime matmul": product{x: []int64{16, 32}, y: []int64{32, 48}}.build,
		"chain": func(g *irbuild.Graph) {
			x := g.Input(1, 40, 6, 6)
			y := g.Op("sigmoid", "x", g.Op("add", "x", x, "y", g.Input(1, 40, 6, 6)))
			g.Output(g.Op("mul", "x", y, "y", x))
		},
	} {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/split=%t", name, split), func(t *testing.T) {
				g := irbuild.New(1)
				build(g)
				c, err := compilePair(g.Program(), compile.Options{Target: target.H13, SplitKernel: split})
				if err != nil {
					t.Fatal(err)
				}
				alone, err := sim.Open(pair.Pair{Container: c.hwx})
				if err != nil {
					t.Fatal(err)
				}
				in := c.inputs(7, nil)
				want, err := c.machine.Run(context.Background(), in, sim.Options{})
				if err != nil {
					t.Fatal(err)
				}
				own := map[string]interp.Tensor{}
				for i, p := range alone.Inputs() {
					x := in[c.machine.Inputs()[i].Name]
					if own[p.Name], err = interp.NewTensor(p.Type, x.Data); err != nil {
						t.Fatalf("input %s %s: %v", p.Name, p.Type, err)
					}
				}
				got, err := alone.Run(context.Background(), own, sim.Options{})
				if err != nil {
					t.Fatal(err)
				}
				a, b := got[alone.Outputs()[0].Name].Floats32(), want[c.machine.Outputs()[0].Name].Floats32()
				if !slices.Equal(a, b) {
					t.Error("the container alone gives other numbers than the pair")
				}
			})
		}
	}
}
