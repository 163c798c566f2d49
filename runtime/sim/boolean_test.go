package sim_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

var comparisonOps = []string{"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}

// coarse are numbers that are often equal.
func coarse(r *rand.Rand) float64 { return float64(r.IntN(5)-2) / 2 }

// TestComparisonsBroadcast runs every comparison over shapes that broadcast, with constants on either side and with
// single numbers.
func TestComparisonsBroadcast(t *testing.T) {
	var samples []sample
	for k, p := range broadcastPairs {
		for turn := range 2 {
			a, b := p[turn], p[1-turn]
			if turn == 1 && slices.Equal(a, b) {
				continue
			}
			// All operations differ in one table: each pair of shapes runs two of them.
			for _, op := range []string{comparisonOps[k%6], comparisonOps[(k+1+turn)%6]} {
				few := func(g *irbuild.Graph, shape ...int64) *ir.Value {
					return g.Filled(ir.FP16, func(i int64) float64 { return float64(i%5-2) / 2 }, shape...)
				}
				samples = append(samples,
					sample{name: fmt.Sprintf("%s %v %v", op, a, b), fill: coarse, build: func(g *irbuild.Graph) {
						g.Output(g.Op(op, "x", g.Input(a...), "y", g.Input(b...)))
					}},
					sample{name: fmt.Sprintf("%s %v constant %v", op, a, b), fill: coarse,
						build: func(g *irbuild.Graph) {
							g.Output(g.Op(op, "x", g.Input(a...), "y", few(g, b...)))
						}},
					sample{name: fmt.Sprintf("%s constant %v %v", op, a, b), fill: coarse,
						build: func(g *irbuild.Graph) {
							g.Output(g.Op(op, "x", few(g, a...), "y", g.Input(b...)))
						}})
			}
		}
	}
	for _, op := range comparisonOps {
		for _, c := range []float64{0, 0.5, -1} {
			samples = append(samples, sample{name: fmt.Sprintf("%s %g", op, c), fill: coarse,
				build: func(g *irbuild.Graph) {
					x := g.Input(2, 3, 20)
					g.Output(g.Op(op, "x", x, "y", c), g.Op(op, "x", c, "y", x))
				}})
		}
	}
	runSamples(t, samples)
}

// edges are numbers at the edges of fp16: zeros, subnormal numbers, neighbours and the largest; also infinities, whose
// difference has a value only in the engine's own arithmetic, and NaN, which only the engine reads as an infinity.
var (
	edges = []float64{0, math.Copysign(0, -1), 0x1p-24, -0x1p-24, 0x1p-23, 0x3ffp-24, 0x1p-14, -0x1p-14, 0x401p-24, 1,
		1 + 0x1p-10, 1 - 0x1p-11, -1, -1 - 0x1p-10, 2048, 2050, 65504, -65504, 65472}
	allEdges = append(slices.Clone(edges), math.Inf(1), math.Inf(-1), math.NaN())
)

// TestComparisonsAreExactAtTheEdges compares every pair of numbers at the edges of fp16, and random patterns.
func TestComparisonsAreExactAtTheEdges(t *testing.T) {
	var samples []sample
	for _, set := range [][]float64{edges, allEdges} {
		n := int64(len(set))
		measured := n > int64(len(edges))
		for _, op := range comparisonOps {
			samples = append(samples, sample{name: fmt.Sprint(op, n), fill: inOrder(set), measured: measured,
				build: func(g *irbuild.Graph) {
					x, y := g.Filled(ir.FP16, func(i int64) float64 { return set[i] }, n, 1), g.Input(1, n)
					g.Output(g.Op(op, "x", x, "y", y), g.Op(op, "x", y, "y", x))
				}})
			for i, c := range set {
				samples = append(samples, sample{name: fmt.Sprint(op, n, " with number ", i), measured: measured,
					fill: inOrder(set), build: func(g *irbuild.Graph) {
						y := g.Input(n)
						g.Output(g.Op(op, "x", y, "y", c), g.Op(op, "x", c, "y", y))
					}})
			}
		}
	}
	for _, op := range comparisonOps {
		samples = append(samples, sample{name: op + " of patterns", measured: true, fill: pattern,
			build: func(g *irbuild.Graph) {
				x := g.Input(100, 200)
				g.Output(g.Op(op, "x", x, "y", g.Input(100, 200)), g.Op(op, "x", x, "y", g.Op("identity", "x", x)))
			}})
	}
	runSamples(t, samples)
}

// inOrder returns the numbers in turn.
func inOrder(vs []float64) func(*rand.Rand) float64 {
	i := 0
	return func(*rand.Rand) float64 {
		i++
		return vs[(i-1)%len(vs)]
	}
}

// pattern is any fp16 number, NaN among them.
func pattern(r *rand.Rand) float64 {
	return float64(float16.Frombits(uint16(r.IntN(1 << 16))).Float32())
}

// TestSelectBroadcasts runs select over shapes that broadcast, with sides that are constants and numbers.
func TestSelectBroadcasts(t *testing.T) {
	var samples []sample
	add := func(name string, measured bool, fill func(*rand.Rand) float64, build func(g *irbuild.Graph) *ir.Value) {
		samples = append(samples, sample{name: name, fill: fill, measured: measured,
			build: func(g *irbuild.Graph) { g.Output(build(g)) }})
	}
	for _, p := range broadcastPairs {
		for turn := range 3 {
			shapes := [][]int64{p[0], p[1], p[turn%2]}
			cond, a, b := shapes[turn], shapes[(turn+1)%3], shapes[(turn+2)%3]
			name := fmt.Sprint(cond, a, b, turn)
			add(name, false, nil, func(g *irbuild.Graph) *ir.Value {
				return g.Op("select", "cond", g.InputOf(ir.Bool, cond...), "a", g.Input(a...), "b", g.Input(b...))
			})
			add(name+" of a comparison", false, coarse, func(g *irbuild.Graph) *ir.Value {
				return g.Op("select", "cond", g.Op("less", "x", g.Input(cond...), "y", 0.0), "a", g.Input(a...), "b",
					g.Weights(b...))
			})
			add(name+" with a constant", false, nil, func(g *irbuild.Graph) *ir.Value {
				return g.Op("select", "cond", g.InputOf(ir.Bool, cond...), "a", g.Weights(a...), "b", g.Input(b...))
			})
			add(name+" by a constant", false, nil, func(g *irbuild.Graph) *ir.Value {
				m := g.Filled(ir.Bool, func(i int64) float64 { return float64(i % 2) }, cond...)
				return g.Op("select", "cond", m, "a", g.Input(a...), "b", g.Input(b...))
			})
		}
	}
	numbers := []float64{0, 2.5, -65504, 0x1p-24, math.Inf(1), math.Inf(-1)}
	for _, c := range numbers {
		for _, d := range numbers {
			if math.IsInf(c, 0) == math.IsInf(d, 0) || d != 0 {
				add(fmt.Sprint("numbers ", c, " ", d), true, nil, func(g *irbuild.Graph) *ir.Value {
					return g.Op("select", "cond", g.InputOf(ir.Bool, 2, 3, 40), "a", c, "b", d)
				})
			}
		}
		add(fmt.Sprint("number for a ", c), true, inOrder(allEdges), func(g *irbuild.Graph) *ir.Value {
			return g.Op("select", "cond", g.InputOf(ir.Bool, 3, 40), "a", c, "b", g.Input(2, 1, 40))
		})
		add(fmt.Sprint("number for b ", c), true, inOrder(allEdges), func(g *irbuild.Graph) *ir.Value {
			return g.Op("select", "cond", g.InputOf(ir.Bool, 3, 40), "a", g.Input(2, 1, 40), "b", c)
		})
	}
	add("edges", true, inOrder(allEdges), func(g *irbuild.Graph) *ir.Value {
		return g.Op("select", "cond", g.InputOf(ir.Bool, 21, 21), "a", g.Input(21, 1), "b", g.Input(1, 21))
	})
	runSamples(t, samples)
}

// TestBooleansMoveThroughTheEngine also concatenates them.
func TestBooleansMoveThroughTheEngine(t *testing.T) {
	var samples []sample
	add := func(name string, build func(g *irbuild.Graph)) {
		samples = append(samples, sample{name: name, build: build, fill: coarse})
	}
	for _, shape := range [][]int64{{1}, {33}, {3, 5}, {2, 3, 40}, {2, 6, 5, 33}, {2, 3, 4, 5, 6}, {1, 1, 64, 64}} {
		in := func(g *irbuild.Graph) *ir.Value { return g.InputOf(ir.Bool, shape...) }
		add(fmt.Sprint("logical_not ", shape), func(g *irbuild.Graph) { g.Output(g.Op("logical_not", "x", in(g))) })
		add(fmt.Sprint("logical_not twice ", shape), func(g *irbuild.Graph) {
			x := g.Op("logical_not", "x", in(g))
			g.Output(x, g.Op("logical_not", "x", x))
		})
		add(fmt.Sprint("to fp16 ", shape), func(g *irbuild.Graph) {
			x := in(g)
			g.Output(g.Op("cast", "x", x, "dtype", "fp16"),
				g.Op("cast", "x", g.Op("logical_not", "x", x), "dtype", "fp16"))
		})
		add(fmt.Sprint("from fp16 ", shape), func(g *irbuild.Graph) {
			g.Output(g.Op("cast", "x", g.Input(shape...), "dtype", "bool"))
		})
		add(fmt.Sprint("equal ", shape), func(g *irbuild.Graph) {
			g.Output(g.Op("equal", "x", in(g), "y", g.Op("logical_not", "x", in(g))))
		})
	}
	for k, p := range broadcastPairs {
		for _, op := range []string{"logical_and", "logical_or", "logical_xor"} {
			x, y := p[k%2], p[1-k%2]
			add(fmt.Sprint(op, x, y), func(g *irbuild.Graph) {
				a, b := g.InputOf(ir.Bool, x...), g.InputOf(ir.Bool, y...)
				v := g.Op(op, "x", a, "y", b)
				m := g.Filled(ir.Bool, func(i int64) float64 { return float64(i % 3 % 2) }, y...)
				g.Output(v, g.Op("logical_not", "x", g.Op(op, "x", v, "y", g.Op("less", "x", g.Input(y...), "y", 0.0))),
					g.Op(op, "x", a, "y", m), g.Op("cast", "x", v, "dtype", "fp16"))
			})
		}
	}
	add("moved", func(g *irbuild.Graph) {
		x := g.Op("less", "x", g.Input(2, 3, 40), "y", 0.0)
		y := g.Op("transpose", "x", x, "perm", []int64{1, 0, 2})
		z := g.Op("concat", "values", []*ir.Value{y, g.InputOf(ir.Bool, 3, 2, 40)}, "axis", 0)
		g.Output(g.Op("expand_dims", "x", z, "axes", []int64{1}),
			g.Op("select", "cond", z, "a", g.Input(6, 2, 40), "b", 1.0))
	})
	runSamples(t, samples)
}

// TestRoundingIsExact rounds every fp16 number.
func TestRoundingIsExact(t *testing.T) {
	var samples []sample
	for _, op := range []string{"floor", "ceil", "round", "sign"} {
		all := make([]float64, 1<<16)
		for i := range all {
			all[i] = float64(float16.Frombits(uint16(i)).Float32())
		}
		samples = append(samples, sample{name: op, fill: inOrder(all), measured: true, build: func(g *irbuild.Graph) {
			g.Output(g.Op(op, "x", g.Input(16, 16, 256)))
		}})
		for _, shape := range [][]int64{{1}, {33}, {3, 5}, {2, 3, 40}, {2, 6, 5, 33}, {2, 3, 4, 5, 6}, {1, 64, 1, 1}} {
			samples = append(samples, sample{name: fmt.Sprint(op, shape), build: func(g *irbuild.Graph) {
				g.Output(g.Op(op, "x", g.Input(shape...)))
			}})
		}
	}
	runSamples(t, samples)
}
