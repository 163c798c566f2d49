package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

var binaryOps = []string{"add", "sub", "mul", "maximum", "minimum", "real_div"}

// shapes are pairs that broadcast.
var broadcastPairs = [][2][]int64{
	{{7}, {7}},
	{{7}, {1}},
	{{3, 5}, {3, 5}},
	{{3, 5}, {5}},
	{{3, 5}, {3, 1}},
	{{3, 5}, {1, 1}},
	{{3, 1}, {1, 5}},
	{{2, 3, 40}, {2, 3, 40}},
	{{2, 3, 40}, {40}},
	{{2, 3, 40}, {3, 1}},
	{{2, 3, 40}, {2, 1, 1}},
	{{2, 3, 40}, {2, 1, 40}},
	{{2, 1, 40}, {3, 1}},
	{{1, 6, 5, 33}, {1, 6, 5, 33}},
	{{1, 6, 5, 33}, {1, 6, 1, 1}},
	{{1, 6, 5, 33}, {1, 1, 5, 33}},
	{{1, 6, 5, 33}, {1, 1, 5, 1}},
	{{2, 6, 5, 33}, {2, 1, 1, 1}},
	{{2, 6, 5, 33}, {2, 1, 5, 1}},
	{{2, 6, 5, 33}, {1, 6, 1, 33}},
	{{2, 6, 1, 33}, {1, 1, 5, 1}},
	{{2, 1, 5, 1}, {1, 6, 1, 33}},
	{{2, 3, 4, 5, 6}, {2, 3, 4, 5, 6}},
	{{2, 3, 4, 5, 6}, {3, 1, 5, 1}},
	{{2, 3, 4, 5, 6}, {2, 1, 4, 1, 6}},
	{{2, 3, 4, 5, 6}, {1, 3, 1, 5, 1}},
	{{2, 1, 4, 1, 6}, {1, 3, 1, 5, 1}},
	{{1}, {2, 3, 4, 5, 6}},
	{{1, 1, 1, 1, 6}, {2, 3, 4, 5, 1}},
}

func TestBinaryOperationsAgree(t *testing.T) {
	var samples []sample
	for _, op := range binaryOps {
		for _, p := range broadcastPairs {
			for turn := range 2 {
				a, b := p[turn], p[1-turn]
				if turn == 1 && slices.Equal(a, b) {
					continue
				}
				samples = append(samples,
					sample{name: fmt.Sprintf("%s %v %v", op, a, b), build: func(g *irbuild.Graph) {
						g.Output(g.Op(op, "x", g.Input(a...), "y", g.Input(b...)))
					}, fill: positiveFor(op)},
					sample{name: fmt.Sprintf("%s %v constant %v", op, a, b), build: func(g *irbuild.Graph) {
						g.Output(g.Op(op, "x", g.Input(a...), "y", positive(g, b...)))
					}},
					sample{name: fmt.Sprintf("%s constant %v %v", op, a, b), build: func(g *irbuild.Graph) {
						g.Output(g.Op(op, "x", positive(g, a...), "y", g.Input(b...)))
					}, fill: positiveFor(op)})
			}
		}
		for _, c := range []float64{3, 0.1, -7, 0} {
			samples = append(samples, sample{name: fmt.Sprintf("%s scalar %g", op, c), build: func(g *irbuild.Graph) {
				x := g.Input(2, 3, 20)
				g.Output(g.Op(op, "x", c, "y", x))
				if op != "real_div" || c != 0 {
					g.Output(g.Op(op, "x", x, "y", c))
				}
			}, fill: positiveFor(op)})
		}
	}
	runSamples(t, samples)
}

// positiveFor keeps divisors away from zero, near which a quotient has no scale.
func positiveFor(op string) func(r *rand.Rand) float64 {
	if op != "real_div" {
		return nil
	}
	return func(r *rand.Rand) float64 { return 0.25 + 3*r.Float64() }
}

func positive(g *irbuild.Graph, shape ...int64) *ir.Value {
	w := g.Weights(shape...)
	return g.Filled(ir.FP16, func(i int64) float64 { return 0.25 + math.Abs(w.Const.Float(i)) }, shape...)
}

// TestBinaryOperationsOnSpecialOperands runs operands that are one value, large tensors, and values at the edges of
// fp16.
func TestBinaryOperationsOnSpecialOperands(t *testing.T) {
	edges := func(r *rand.Rand) float64 {
		vs := []float64{0, 1, -1, 65504, -65504, 6e-8, -6e-8, 6.1e-5, 5e-5, 1024.5, 40000, math.Inf(1), math.Inf(-1)}
		return vs[r.IntN(len(vs))]
	}
	var samples []sample
	for _, op := range []string{"add", "sub", "mul", "maximum", "minimum"} {
		samples = append(samples,
			sample{name: op + " with itself", build: func(g *irbuild.Graph) {
				x := g.Input(3, 4, 5)
				g.Output(g.Op(op, "x", x, "y", x))
			}},
			sample{name: op + " edges", build: func(g *irbuild.Graph) {
				g.Output(g.Op(op, "x", g.Input(2, 100), "y", g.Input(2, 100)))
			}, fill: edges, special: true},
			sample{name: op + " large", build: func(g *irbuild.Graph) {
				g.Output(g.Op(op, "x", g.Input(3, 200, 90, 70), "y", g.Input(200, 1, 70)))
			}},
			sample{name: op + " long rows", build: func(g *irbuild.Graph) {
				g.Output(g.Op(op, "x", g.Input(70, 16384), "y", g.Input(1, 16384)))
			}},
		)
	}
	runSamples(t, samples)
}

func TestUnaryOperationsAgree(t *testing.T) {
	var samples []sample
	for _, shape := range [][]int64{{1}, {33}, {3, 5}, {2, 3, 40}, {2, 6, 5, 33}, {2, 3, 4, 5, 6}, {1, 64, 100, 170}} {
		for name, args := range map[string][]any{
			"relu": nil, "abs": nil, "square": nil, "relu6": nil,
			"clip":  {"alpha", -0.5, "beta", 0.75},
			"clip2": {"alpha", -65504.0, "beta", 0.75},
			"clip3": {"alpha", -0.25, "beta", math.Inf(1)},
			"clip4": {"alpha", math.Inf(-1), "beta", math.Inf(1)},
		} {
			op := name
			if op[:1] == "c" {
				op = "clip"
			}
			samples = append(samples, sample{name: fmt.Sprintf("%s %v", name, shape), build: func(g *irbuild.Graph) {
				g.Output(g.Op("relu", "x", g.Op(op, append([]any{"x", g.Input(shape...)}, args...)...)))
			}})
		}
	}
	runSamples(t, samples)
}

func TestTablesStayWithinTheirErrors(t *testing.T) {
	wide := func(r *rand.Rand) float64 { return 4 * r.NormFloat64() }
	pos := func(r *rand.Rand) float64 { return math.Exp(2 * r.NormFloat64()) }
	near := func(r *rand.Rand) float64 { return r.NormFloat64() }
	var samples []sample
	for _, c := range []struct {
		op   string
		args []any
		fill func(r *rand.Rand) float64
	}{
		{"sigmoid", nil, wide},
		{"tanh", nil, wide},
		{"silu", nil, wide},
		{"erf", nil, wide},
		{"softplus", nil, wide},
		{"softsign", nil, wide},
		{"exp", nil, near},
		{"exp2", nil, wide},
		{"sqrt", nil, pos},
		{"rsqrt", []any{"epsilon", 0.0}, pos},
		{"rsqrt", []any{"epsilon", 0.125}, pos},
		{"log", []any{"epsilon", 0.0}, pos},
		{"log", []any{"epsilon", 0.25}, pos},
		{"atan", nil, wide},
		{"leaky_relu", []any{"alpha", 0.01}, wide},
		{"leaky_relu", []any{"alpha", 0.5}, wide},
		{"elu", []any{"alpha", 1.0}, wide},
		{"elu", []any{"alpha", 0.25}, wide},
		{"sigmoid_hard", []any{"alpha", 0.2, "beta", 0.5}, wide},
		{"scaled_tanh", []any{"alpha", 1.5, "beta", 0.66}, wide},
		{"gelu", []any{"mode", "EXACT"}, wide},
		{"gelu", []any{"mode", "TANH_APPROXIMATION"}, wide},
		{"gelu", []any{"mode", "SIGMOID_APPROXIMATION"}, wide},
	} {
		for _, shape := range [][]int64{{40}, {3, 50}, {2, 3, 4, 35}} {
			samples = append(samples, sample{name: fmt.Sprint(c.op, c.args, shape), fill: c.fill,
				build: func(g *irbuild.Graph) {
					g.Output(g.Op(c.op, append([]any{"x", g.Input(shape...)}, c.args...)...))
				}})
		}
	}
	runSamples(t, samples)
}
