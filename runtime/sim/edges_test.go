package sim_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// everyFP16 is a tensor of all fp16 patterns: the infinities, every NaN, both zeros, the subnormal numbers, the largest
// finite ones, and the bounds of an operation with their neighbours. Patterns for which except is true become zero.
func everyFP16(except func(x float32) bool) interp.Tensor {
	t := interp.Tensor{Type: ir.TensorOf(ir.FP16, 16, 4096), Data: make([]byte, 2<<16)}
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(t.Data[2*i:], uint16(i))
	}
	for i, x := range t.Floats32() {
		if except != nil && except(x) {
			binary.LittleEndian.PutUint16(t.Data[2*i:], 0)
		}
	}
	return t
}

// infinityRows are tables whose value at an infinity differs from plain arithmetic (docs/deviations.md).
var infinityRows = []struct {
	op     string
	args   []any
	x, y   float64
	except func(x float32) bool
}{
	{op: "softplus", x: math.Inf(1), y: 0, except: func(x float32) bool { return x != x || x > 65504 }},
	{op: "leaky_relu", args: []any{"alpha", 0.0}, x: math.Inf(-1), y: 0, except: func(x float32) bool {
		return x < -65504
	}},
	{op: "log", args: []any{"epsilon", 0.0}, x: math.Inf(1), y: 0, except: func(x float32) bool { return x > 65504 }},
	{op: "log", args: []any{"epsilon", 0.25}, x: math.Inf(1), y: 0, except: func(x float32) bool { return x > 65504 }},
}

// TestTablesAtInfinity checks the engine's results for the numbers that TestEveryFP16OperandAgrees skips.
func TestTablesAtInfinity(t *testing.T) {
	for _, x := range infinityRows {
		g := irbuild.New(1)
		v := g.Input(1, 8)
		y := g.Op(x.op, append([]any{"x", v}, x.args...)...)
		g.Output(y)
		c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
		if err != nil {
			t.Fatal(err)
		}
		in := c.inputs(1, func(*rand.Rand) float64 { return x.x })
		for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
			out, err := c.machine.Run(t.Context(), in, sim.Options{Numerics: mode})
			if err != nil {
				t.Fatal(err)
			}
			if got := out[y.Name].Floats32()[0]; float64(got) != x.y {
				t.Errorf("%v: %s%v of %g is %g, want %g", mode, x.op, x.args, x.x, got, x.y)
			}
		}
	}
}

// TestEveryFP16OperandAgrees runs the operations on one operand that the engine computes by a table, by a clamp or by
// one planar task on every fp16 number.
func TestEveryFP16OperandAgrees(t *testing.T) {
	inf := math.Inf(1)
	type row struct {
		op   string
		args []any
	}
	rows := []row{
		{"relu", nil}, {"relu6", nil}, {"abs", nil}, {"square", nil},
		{"sigmoid", nil}, {"tanh", nil}, {"silu", nil}, {"erf", nil}, {"softplus", nil}, {"softsign", nil},
		{"exp", nil}, {"exp2", nil}, {"sqrt", nil}, {"atan", nil},
		{"rsqrt", []any{"epsilon", 0.0}}, {"rsqrt", []any{"epsilon", 0.125}},
		{"log", []any{"epsilon", 0.0}}, {"log", []any{"epsilon", 0.25}},
		{"leaky_relu", []any{"alpha", 0.01}}, {"leaky_relu", []any{"alpha", 0.5}}, {"leaky_relu", []any{"alpha", -0.5}},
		{"leaky_relu", []any{"alpha", 0.0}}, {"leaky_relu", []any{"alpha", 4.0}},
		{"elu", []any{"alpha", 1.0}}, {"elu", []any{"alpha", 0.25}}, {"elu", []any{"alpha", -1.0}},
		{"elu", []any{"alpha", 0.0}},
		{"sigmoid_hard", []any{"alpha", 0.2, "beta", 0.5}}, {"sigmoid_hard", []any{"alpha", -0.2, "beta", 0.5}},
		{"sigmoid_hard", []any{"alpha", 1.0, "beta", 0.0}},
		{"scaled_tanh", []any{"alpha", 1.5, "beta", 0.66}}, {"scaled_tanh", []any{"alpha", -1.5, "beta", 0.66}},
		{"gelu", []any{"mode", "EXACT"}}, {"gelu", []any{"mode", "TANH_APPROXIMATION"}},
		{"gelu", []any{"mode", "SIGMOID_APPROXIMATION"}},
	}
	bounds := []float64{-inf, -65504, -65472, -1, -0.5, -0x1p-14, -0x1p-24, math.Copysign(0, -1), 0, 0x1p-24, 0x1p-14,
		0.75, 6, 65472, 65504, inf}
	for i, lo := range bounds {
		for _, hi := range bounds[i:] {
			rows = append(rows, row{"clip", []any{"alpha", lo, "beta", hi}})
		}
		rows = append(rows, row{"maximum", []any{"y", lo}}, row{"minimum", []any{"y", lo}})
	}
	rows = append(rows, row{"clip", []any{"alpha", 2.0, "beta", -2.0}})
	for _, c := range []float64{-inf, -65504, -3, -0x1p-14, -0x1p-24, math.Copysign(0, -1), 0, 0x1p-24, 0x1p-14, 0.1,
		65504, inf} {
		for _, op := range []string{"add", "sub", "mul"} {
			rows = append(rows, row{op, []any{"y", c}})
		}
	}
	all := everyFP16(nil)
	for i := range testform.Sample(len(rows), 12, 100) {
		x := rows[i]
		in := all
		for _, l := range infinityRows {
			if l.op == x.op && slices.Equal(l.args, x.args) {
				in = everyFP16(l.except)
			}
		}
		t.Run(fmt.Sprint(x.op, x.args), func(t *testing.T) {
			g := irbuild.New(1)
			v := g.Input(in.Type.Shape...)
			g.Output(g.Op(x.op, append([]any{"x", v}, x.args...)...))
			c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatalf("%v\n%s", err, c.brief())
			}
			if err := c.onEngine(); err != nil {
				t.Fatal(err)
			}
			for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
				if err := c.checkElements(map[string]interp.Tensor{v.Name: in}, mode); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestEveryFP16PairAgrees runs operations on two operands with every fp16 number and another one.
func TestEveryFP16PairAgrees(t *testing.T) {
	x := everyFP16(nil)
	y := interp.Tensor{Type: x.Type, Data: make([]byte, len(x.Data))}
	for _, op := range []string{"add", "sub", "mul", "maximum", "minimum"} {
		g := irbuild.New(1)
		a, b := g.Input(x.Type.Shape...), g.Input(x.Type.Shape...)
		g.Output(g.Op(op, "x", a, "y", b))
		c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
		if err != nil {
			t.Fatalf("%v\n%s", err, c.brief())
		}
		// Odd factors and any addend permute the numbers: the first pairs each with
		// itself, the second with its opposite.
		for _, p := range [][2]int{{1, 0}, {1, 1 << 15}, {1, 1}, {-1, 0}, {0x5555, 0x7c00}, {0x9e37, 0xfc00},
			{0x6d2b, 0x3c01}} {
			for i := range 1 << 16 {
				binary.LittleEndian.PutUint16(y.Data[2*i:], uint16(i*p[0]+p[1]))
			}
			for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
				if err := c.checkElements(map[string]interp.Tensor{a.Name: x, b.Name: y}, mode); err != nil {
					t.Errorf("%s %#x: %v", op, p, err)
				}
			}
		}
	}
}

// TestHardSwishOfEveryFP16Number computes hard swish as converters write it, which becomes x sigmoid_hard(x), and the
// same with its threshold as an output, which stays.
func TestHardSwishOfEveryFP16Number(t *testing.T) {
	for _, alpha := range []float64{1.0 / 6, 0x1.554p-3} {
		var ys [2]interp.Tensor
		var tasks [2]int
		for i := range ys {
			g := irbuild.New(1)
			x := g.Input(16, 4096)
			v := g.Op("thresholded_relu", "x", x, "alpha", -3.0)
			y := g.Op("mul", "x", v, "y", g.Op("sigmoid_hard", "x", v, "alpha", alpha, "beta", 0.5))
			g.Output([]*ir.Value{y, v}[:i+1]...)
			c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.onEngine(); err != nil {
				t.Fatal(err)
			}
			out, err := c.machine.Run(t.Context(), map[string]interp.Tensor{x.Name: everyFP16(nil)}, sim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ys[i], tasks[i] = out[y.Name], c.machine.Tasks()
		}
		if !bytes.Equal(ys[0].Data, ys[1].Data) {
			t.Errorf("alpha %g: the numbers differ", alpha)
		}
		if tasks != [2]int{2, 5} {
			t.Errorf("alpha %g: %d tasks, want 2, and 5 with the threshold", alpha, tasks)
		}
	}
}
