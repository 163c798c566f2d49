package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// product is one matmul: shapes as the operands are stored.
type product struct {
	x, y           []int64
	tx, ty         bool
	constX, constY bool
	then           func(g *irbuild.Graph, y *ir.Value) *ir.Value
}

func (p product) build(g *irbuild.Graph) {
	k := p.x[len(p.x)-1]
	if p.tx {
		k = p.x[len(p.x)-2]
	}
	operand := func(shape []int64, constant bool) *ir.Value {
		if constant {
			return scaled(g, k, shape...)
		}
		return g.Input(shape...)
	}
	y := g.Op("matmul", "x", operand(p.x, p.constX), "y", operand(p.y, p.constY), "transpose_x", p.tx, "transpose_y",
		p.ty)
	if p.then != nil {
		y = p.then(g, y)
	}
	g.Output(y)
}

// stored swaps the last two dimensions when transposed is set.
func stored(transposed bool, shape ...int64) []int64 {
	s := slices.Clone(shape)
	if n := len(s); transposed {
		s[n-1], s[n-2] = s[n-2], s[n-1]
	}
	return s
}

// both runs f for every choice of the two transpositions.
func both(f func(tx, ty bool)) {
	for _, tx := range []bool{false, true} {
		for _, ty := range []bool{false, true} {
			f(tx, ty)
		}
	}
}

func TestProductsWithConstantsAgree(t *testing.T) {
	var samples []sample
	add := func(name string, p product) { samples = append(samples, sample{name: name, build: p.build}) }
	for _, d := range [][3]int64{{1, 64, 64}, {5, 7, 9}, {33, 48, 100}, {17, 1, 3}, {130, 65, 17}, {64, 256, 258}} {
		m, k, n := d[0], d[1], d[2]
		both(func(tx, ty bool) {
			add(fmt.Sprintf("y %v tx %t ty %t", d, tx, ty), product{
				x:      stored(tx, m, k),
				y:      stored(ty, k, n),
				tx:     tx,
				ty:     ty,
				constY: true,
			})
			add(fmt.Sprintf("x %v tx %t ty %t", d, tx, ty), product{
				x:      stored(tx, m, k),
				y:      stored(ty, k, n),
				tx:     tx,
				ty:     ty,
				constX: true,
			})
		})
	}
	both(func(tx, ty bool) {
		s := fmt.Sprintf(" tx %t ty %t", tx, ty)
		add("y batches"+s, product{x: stored(tx, 2, 3, 5, 16), y: stored(ty, 3, 16, 10), tx: tx, ty: ty, constY: true})
		add("y broadcast batches"+s, product{
			x:      stored(tx, 2, 1, 5, 16),
			y:      stored(ty, 3, 16, 10),
			tx:     tx,
			ty:     ty,
			constY: true,
		})
		add("x batches"+s, product{x: stored(tx, 3, 5, 16), y: stored(ty, 2, 3, 16, 10), tx: tx, ty: ty, constX: true})
		add("y of rank 2, x of rank 5"+s, product{
			x:      stored(tx, 2, 1, 2, 6, 32),
			y:      stored(ty, 32, 7),
			tx:     tx,
			ty:     ty,
			constY: true,
		})
		add("x of rank 2, y of rank 4"+s, product{
			x:      stored(tx, 6, 32),
			y:      stored(ty, 2, 3, 32, 7),
			tx:     tx,
			ty:     ty,
			constX: true,
		})
	})
	add("many rows", product{x: []int64{1000, 40}, y: []int64{40, 24}, constY: true})
	add("rows past the width limit", product{x: []int64{17000, 8}, y: []int64{8, 6}, constY: true})
	add("rows past the width limit together", product{x: []int64{3, 6000, 8}, y: []int64{8, 6}, constY: true})
	add("large", product{x: []int64{96, 1536}, y: []int64{1536, 384}, constY: true})
	add("large kernel resident", product{x: []int64{200, 1024}, y: []int64{1024, 600}, constY: true})
	add("long sum", product{x: []int64{3, 9000}, y: []int64{9000, 20}, constY: true})
	add("long sum many rows", product{x: []int64{300, 16384}, y: []int64{16384, 5}, constY: true})
	add("relu", product{x: []int64{9, 33}, y: []int64{33, 21}, constY: true, then: unary("relu")})
	add("gelu", product{
		x:      []int64{9, 33},
		y:      []int64{33, 21},
		constY: true,
		then:   unary("gelu", "mode", "TANH_APPROXIMATION"),
	})
	add("x const, sigmoid", product{x: []int64{9, 33}, y: []int64{33, 21}, constX: true, then: unary("sigmoid")})
	add("scale silu", product{x: []int64{9, 33}, y: []int64{33, 21}, constY: true, then: func(g *irbuild.Graph,
		y *ir.Value) *ir.Value {
		return g.Op("silu", "x", g.Op("mul", "x", y, "y", 1.5))
	}})
	add("bias row", product{x: []int64{9, 33}, y: []int64{33, 21}, constY: true, then: func(g *irbuild.Graph,
		y *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("add", "x", y, "y", g.Weights(21)))
	}})
	add("bias column", product{x: []int64{9, 33}, y: []int64{33, 21}, constX: true, then: func(g *irbuild.Graph,
		y *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("add", "x", y, "y", g.Weights(9, 1)))
	}})
	runSamples(t, samples)
}

func TestProductsOfRuntimeOperandsAgree(t *testing.T) {
	var samples []sample
	add := func(name string, p product) { samples = append(samples, sample{name: name, build: p.build}) }
	for _, m := range []int64{1, 6, 16, 17, 64, 100, 200} {
		for _, k := range []int64{1, 7, 64} {
			both(func(tx, ty bool) {
				add(fmt.Sprintf("m %d k %d tx %t ty %t", m, k, tx, ty), product{
					x:  stored(tx, m, k),
					y:  stored(ty, k, 19),
					tx: tx,
					ty: ty,
				})
			})
		}
	}
	both(func(tx, ty bool) {
		s := fmt.Sprintf(" tx %t ty %t", tx, ty)
		add("batches"+s, product{x: stored(tx, 2, 3, 5, 16), y: stored(ty, 2, 3, 16, 10), tx: tx, ty: ty})
		add("broadcast x"+s, product{x: stored(tx, 1, 3, 5, 16), y: stored(ty, 2, 3, 16, 10), tx: tx, ty: ty})
		add("broadcast y"+s, product{x: stored(tx, 2, 3, 5, 16), y: stored(ty, 16, 10), tx: tx, ty: ty})
		add("broadcast both"+s, product{x: stored(tx, 2, 1, 5, 16), y: stored(ty, 1, 3, 16, 10), tx: tx, ty: ty})
		add("rank 5"+s, product{x: stored(tx, 2, 2, 2, 34, 9), y: stored(ty, 2, 2, 2, 9, 35), tx: tx, ty: ty})
		add("long sum"+s, product{x: stored(tx, 33, 3001), y: stored(ty, 3001, 40), tx: tx, ty: ty})
		add("many columns"+s, product{x: stored(tx, 130, 96), y: stored(ty, 96, 700), tx: tx, ty: ty})
		add("past L2"+s, product{x: stored(tx, 40, 1500), y: stored(ty, 1500, 1501), tx: tx, ty: ty})
	})
	add("scaled", product{x: []int64{4, 64, 32}, y: []int64{4, 32, 50}, then: func(g *irbuild.Graph,
		y *ir.Value) *ir.Value {
		return g.Op("mul", "x", y, "y", 0.125)
	}})
	add("relu", product{x: []int64{40, 32}, y: []int64{32, 50}, then: unary("relu")})
	add("sigmoid", product{x: []int64{40, 32}, y: []int64{32, 50}, then: unary("sigmoid")})
	runSamples(t, samples)
}

func TestMatmulWithItself(t *testing.T) {
	runSamples(t, []sample{
		{name: "x x^T", build: func(g *irbuild.Graph) {
			x := g.Input(2, 35, 24)
			g.Output(g.Op("matmul", "x", x, "y", x, "transpose_y", true))
		}},
		{name: "x^T x", build: func(g *irbuild.Graph) {
			x := g.Input(35, 24)
			g.Output(g.Op("matmul", "x", x, "y", x, "transpose_x", true))
		}},
	})
}

func TestLinearAgrees(t *testing.T) {
	var samples []sample
	for _, shape := range [][]int64{{16}, {1, 64}, {5, 33}, {2, 3, 40}, {2, 3, 2, 17}, {1, 2, 3, 4, 8}, {300, 7},
		{17000, 4}} {
		for _, n := range []int64{1, 3, 17, 100, 258} {
			if shape[0] > 1000 && n > 3 {
				continue
			}
			for _, bias := range []bool{false, true} {
				samples = append(samples, sample{name: fmt.Sprintf("%v to %d bias %t", shape, n, bias),
					build: func(g *irbuild.Graph) {
						k := shape[len(shape)-1]
						args := []any{"x", g.Input(shape...), "weight", scaled(g, k, n, k)}
						if bias {
							args = append(args, "bias", g.Weights(n))
						}
						g.Output(g.Op("linear", args...))
					}})
			}
		}
	}
	samples = append(samples,
		sample{name: "gelu", build: func(g *irbuild.Graph) {
			g.Output(g.Op("gelu", "x", g.Op("linear", "x", g.Input(2, 40, 48), "weight", scaled(g, 48, 70, 48), "bias",
				g.Weights(70)), "mode", "EXACT"))
		}},
		sample{name: "large with bias and relu", build: func(g *irbuild.Graph) {
			g.Output(g.Op("relu", "x", g.Op("linear", "x", g.Input(1, 150, 384), "weight", scaled(g, 384, 1536, 384),
				"bias", g.Weights(1536))))
		}},
		sample{name: "a long sum with bias", build: func(g *irbuild.Graph) {
			g.Output(g.Op("linear", "x", g.Input(3, 16384), "weight", scaled(g, 16384, 40, 16384), "bias",
				g.Weights(40)))
		}},
		sample{name: "three in a row", build: func(g *irbuild.Graph) {
			y := g.Input(4, 30)
			for _, n := range []int64{50, 20, 7} {
				k := y.Type.Shape[1]
				y = g.Op("relu", "x", g.Op("linear", "x", y, "weight", scaled(g, k, n, k), "bias", g.Weights(n)))
			}
			g.Output(y)
		}},
	)
	runSamples(t, samples)
}
