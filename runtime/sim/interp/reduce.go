package interp

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// reduction folds the elements of one output into one number. It sees them in
// row-major order.
type reduction struct {
	f    func(at func(i int) float64, n int) float64
	ints func(at func(i int) int64, n int) int64 // nil: through f, truncated
	// empty says that integers have a result for no elements too.
	empty bool
}

func sumOf(at func(int) float64, n int, f func(float64) float64) float64 {
	s := 0.0
	for i := range n {
		s += f(at(i))
	}
	return s
}

func ident(x float64) float64  { return x }
func square(x float64) float64 { return x * x }

func sumInts(at func(int) int64, n int) int64 {
	s := int64(0)
	for i := range n {
		s += at(i)
	}
	return s
}

// logSumExp subtracts the maximum first; an infinite maximum is the result.
func logSumExp(at func(int) float64, n int) float64 {
	m := math.Inf(-1)
	for i := range n {
		m = math.Max(m, at(i))
	}
	if math.IsInf(m, 0) || m != m {
		return m
	}
	return m + math.Log(sumOf(at, n, func(x float64) float64 { return math.Exp(x - m) }))
}

var reductions = map[*ir.Operation]reduction{
	ir.OpReduceL1Norm:    {f: func(at func(int) float64, n int) float64 { return sumOf(at, n, math.Abs) }},
	ir.OpReduceL2Norm:    {f: func(at func(int) float64, n int) float64 { return math.Sqrt(sumOf(at, n, square)) }},
	ir.OpReduceLogSum:    {f: func(at func(int) float64, n int) float64 { return math.Log(sumOf(at, n, ident)) }},
	ir.OpReduceLogSumExp: {f: logSumExp},
	ir.OpReduceMax: {
		f: func(at func(int) float64, n int) float64 {
			m := math.Inf(-1)
			for i := range n {
				if v := at(i); v > m || v != v {
					m = v
				}
			}
			return m
		},
		ints: func(at func(int) int64, n int) int64 {
			m := at(0)
			for i := range n {
				m = max(m, at(i))
			}
			return m
		}},
	ir.OpReduceMin: {
		f: func(at func(int) float64, n int) float64 {
			m := math.Inf(1)
			for i := range n {
				if v := at(i); v < m || v != v {
					m = v
				}
			}
			return m
		},
		ints: func(at func(int) int64, n int) int64 {
			m := at(0)
			for i := range n {
				m = min(m, at(i))
			}
			return m
		}},
	ir.OpReduceMean: {
		f:     func(at func(int) float64, n int) float64 { return sumOf(at, n, ident) / float64(n) },
		ints:  func(at func(int) int64, n int) int64 { return truncDiv(sumInts(at, n), int64(n)) },
		empty: true},
	ir.OpReduceProd: {
		f: func(at func(int) float64, n int) float64 {
			p := 1.0
			for i := range n {
				p *= at(i)
			}
			return p
		},
		ints: func(at func(int) int64, n int) int64 {
			p := int64(1)
			for i := range n {
				p *= at(i)
			}
			return p
		}},
	ir.OpReduceSum: {f: func(at func(int) float64, n int) float64 {
		return sumOf(at, n, ident)
	}, ints: sumInts, empty: true},
	ir.OpReduceSumSquare: {f: func(at func(int) float64, n int) float64 { return sumOf(at, n, square) }},
}

var _ = add(func() map[*ir.Operation]kernel {
	ks := map[*ir.Operation]kernel{
		ir.OpReduceArgmax: func(c *call) []Tensor { return argReduce(c, func(a, b float64) bool { return a > b }) },
		ir.OpReduceArgmin: func(c *call) []Tensor { return argReduce(c, func(a, b float64) bool { return a < b }) },
	}
	for n, r := range reductions {
		ks[n] = r.kernel
	}
	return ks
}())

// axesArg returns the axes of an argument, all of them where it is absent.
func (c *call) axesArg(name ir.ParamName, rank int) []bool {
	on := make([]bool, rank)
	vs, ok := c.ints(name)
	if !ok {
		for i := range on {
			on[i] = true
		}
		return on
	}
	for _, a := range vs {
		if i := c.wrapAxis(name, a, rank); c.err == nil {
			on[i] = true
		}
	}
	return on
}

// fold is how a reduction walks its operand: the first element of every output
// and the steps from there to its terms.
type fold struct {
	shape []int64 // of the result
	outs  []int
	terms []int
}

// foldOver returns the walk that reduces the axes that are on. A result without elements has no walk, however many
// elements each would have been made of.
func (c *call) foldOver(shape []int64, on []bool, keep bool) fold {
	var f fold
	var outs, terms []int64
	for i, d := range shape {
		switch {
		case !on[i]:
			f.shape, outs = append(f.shape, d), append(outs, d)
		case keep:
			f.shape, terms = append(f.shape, 1), append(terms, d)
		default:
			terms = append(terms, d)
		}
	}
	if slices.Contains(outs, 0) || !c.reserve(shapeBytes(ir.Int64, outs)) || !c.reserve(shapeBytes(ir.Int64, terms)) {
		return f
	}
	st := strides(shape)
	f.outs, f.terms = []int{0}, []int{0}
	grow := func(list []int, d int64, step int) []int {
		out := make([]int, 0, len(list)*int(d))
		for _, at := range list {
			for i := range int(d) {
				out = append(out, at+i*step)
			}
		}
		return out
	}
	for i, d := range shape {
		if on[i] {
			f.terms = grow(f.terms, d, st[i])
		} else {
			f.outs = grow(f.outs, d, st[i])
		}
	}
	return f
}

func (r reduction) kernel(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	on := c.axesArg(ir.ParamAxes, x.Type.Rank())
	keep := c.bool(ir.ParamKeepDims, false)
	if c.err != nil {
		return nil
	}
	fd := c.foldOver(x.Type.Shape, on, keep)
	if c.err == nil && len(fd.terms) == 0 && len(fd.outs) > 0 && r.ints != nil && !r.empty {
		return c.fail("reduces no elements of x, shape %s", ir.ShapeString(x.Type.Shape))
	}
	grain := 1 + 4096/max(1, len(fd.terms))
	if !x.Type.DType.IsFloat() && r.ints != nil {
		xs := c.integers(x)
		if !c.reserve(8 * int64(len(fd.outs))) {
			return nil
		}
		out := make([]int64, len(fd.outs))
		c.parallel(len(out), grain, func(lo, hi int) {
			for o := lo; o < hi; o++ {
				base := fd.outs[o]
				out[o] = r.ints(func(i int) int64 { return xs[base+fd.terms[i]] }, len(fd.terms))
			}
		})
		return results(c.outInts(0, fd.shape, out))
	}
	xs, out := c.floats(x), c.buffer(len(fd.outs))
	if c.err != nil {
		return nil
	}
	c.parallel(len(out), grain, func(lo, hi int) {
		for o := lo; o < hi; o++ {
			base := fd.outs[o]
			at := func(i int) float64 { return float64(xs[base+fd.terms[i]]) }
			out[o] = float32(r.f(at, len(fd.terms)))
		}
	})
	return results(c.outFloats(0, fd.shape, out))
}

// argReduce finds the extreme element of an axis, the first of equal ones; a
// NaN is more extreme than any number.
func argReduce(c *call, better func(a, b float64) bool) []Tensor {
	x := c.numeric(ir.ParamX)
	rank := x.Type.Rank()
	axis := c.axis(ir.ParamAxis, -1, rank)
	keep := c.bool(ir.ParamKeepDims, false)
	if c.err != nil {
		return nil
	}
	on := make([]bool, rank)
	on[axis] = true
	fd := c.foldOver(x.Type.Shape, on, keep)
	if c.err != nil || !c.reserve(8*int64(len(fd.outs)+x.Elems())) {
		return nil
	}
	if len(fd.terms) == 0 && len(fd.outs) > 0 {
		return c.fail("axis %d of x, shape %s, is empty", axis, ir.ShapeString(x.Type.Shape))
	}
	var at func(i int) float64
	if x.Type.DType.IsFloat() {
		xs := c.floats(x)
		at = func(i int) float64 { return float64(xs[i]) }
	} else {
		xs := c.integers(x)
		at = func(i int) float64 { return float64(xs[i]) }
	}
	out := make([]int64, len(fd.outs))
	c.parallel(len(out), 1+4096/max(1, len(fd.terms)), func(lo, hi int) {
		for o := lo; o < hi; o++ {
			best, k := at(fd.outs[o]), 0
			for i := 1; i < len(fd.terms) && best == best; i++ {
				if v := at(fd.outs[o] + fd.terms[i]); better(v, best) || v != v {
					best, k = v, i
				}
			}
			out[o] = int64(k)
		}
	})
	return results(c.outInts(0, fd.shape, out))
}
