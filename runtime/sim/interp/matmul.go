package interp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpMatMul: matmul,
	ir.OpLinear: linear,
})

// matrix is a row-major matrix, read transposed when t is set: rows and cols
// are those of the stored form.
type matrix struct {
	data       []float32
	rows, cols int
	t          bool
}

func (m matrix) at(i, j int) float32 {
	if m.t {
		return m.data[j*m.cols+i]
	}
	return m.data[i*m.cols+j]
}

func (m matrix) dims() (r, c int) {
	if m.t {
		return m.cols, m.rows
	}
	return m.rows, m.cols
}

func (m matrix) blas() (blas.Transpose, blas32.General) {
	t := blas.NoTrans
	if m.t {
		t = blas.Trans
	}
	return t, blas32.General{Rows: m.rows, Cols: m.cols, Stride: max(1, m.cols), Data: m.data}
}

// gemmRows is the number of rows of the result that one piece of gemm
// computes between two looks at the context.
const gemmRows = 256

// gemm adds a*b to out (row major, rows of a by columns of b). Each element of
// the result is the sum over k in order, whatever the number of goroutines.
// Operands with infinities or NaN take a plain loop, since the fast one skips
// products with zero.
func (c *call) gemm(a, b matrix, out []float32) {
	if c.err != nil {
		return
	}
	m, k := a.dims()
	_, n := b.dims()
	if m == 0 || n == 0 || k == 0 {
		return
	}
	if c.lanes || c.r.opt.WideSums || !finite(a.data) || !finite(b.data) {
		c.gemmPlain(a, b, m, k, n, out)
		return
	}
	tb, gb := b.blas()
	for lo := 0; lo < m; lo += gemmRows {
		if err := c.r.ctx.Err(); err != nil {
			c.fail("the run was stopped: %v", err)
			return
		}
		hi := min(m, lo+gemmRows)
		ta, ga := a.blas()
		if a.t {
			ga.Cols = hi - lo
			ga.Data = ga.Data[lo:]
		} else {
			ga.Rows = hi - lo
			ga.Data = ga.Data[lo*a.cols:]
		}
		blas32.Gemm(ta, tb, 1, ga, gb, 1, blas32.General{Rows: hi - lo, Cols: n, Stride: n, Data: out[lo*n:]})
	}
}

func finite(vs []float32) bool {
	for _, v := range vs {
		if v-v != 0 {
			return false
		}
	}
	return true
}

// gemmPlain is gemm as a loop over k: in fp32, or in fp64 when wide sums are requested; in the mode ANE a product 0*inf
// counts 0, and in ANELanes the products go through the accumulator's first stage.
func (c *call) gemmPlain(a, b matrix, m, k, n int, out []float32) {
	c.parallel(m, 1+65536/max(1, k*n), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if c.r.ctx.Err() != nil {
				return
			}
			for j := range n {
				s := 0.0
				f := out[i*n+j]
				var acc numerics.Accumulator
				for l := range k {
					x, y := a.at(i, l), b.at(l, j)
					switch {
					case c.lanes:
						acc.Add(x, y)
					case c.ane:
						f += numerics.MACProduct(x, y)
					case c.r.opt.WideSums:
						s += float64(x) * float64(y)
					default:
						f += float32(x * y)
					}
				}
				switch {
				case c.lanes:
					f += acc.Sum()
				case c.r.opt.WideSums && !c.ane:
					f = float32(float64(f) + s)
				}
				out[i*n+j] = f
			}
		}
	})
}

// macFloats is floats for an operand of the multiply-accumulate.
func (c *call) macFloats(t Tensor) []float32 {
	vs := c.floats(t)
	if c.ane {
		for i, v := range vs {
			vs[i] = numerics.MACIn(v)
		}
	}
	return vs
}

// squares returns the squares of vs when the perturbation needs the scale of
// products, nil otherwise.
func (c *call) squares(vs []float32) []float32 {
	if c.bound.Acc == 0 || c.err != nil {
		return nil
	}
	out := c.buffer(len(vs))
	for i := range out {
		out[i] = vs[i] * vs[i]
	}
	return out
}

// roots turns sums of squares into c.acc.
func (c *call) roots(sums []float32) {
	for i, v := range sums {
		sums[i] = float32(math.Sqrt(float64(v)))
	}
	c.acc = sums
}

// integerProduct tells an operand of integers, which are multiplied exactly.
func integerProduct(x, y Tensor) bool { return !x.Type.DType.IsFloat() && !y.Type.DType.IsFloat() }

func matmul(c *call) []Tensor {
	x, y := c.numeric(ir.ParamX), c.numeric(ir.ParamY)
	tx, ty := c.bool(ir.ParamTransposeX, false), c.bool(ir.ParamTransposeY, false)
	if c.err != nil {
		return nil
	}
	xs, ys := x.Type.Shape, y.Type.Shape
	if len(xs) == 0 || len(ys) == 0 {
		return c.fail("x has shape %s and y has shape %s: neither may be a scalar", ir.ShapeString(xs),
			ir.ShapeString(ys))
	}
	// A vector is a row on the left and a column on the right; that dimension
	// is not part of the result.
	dropRow, dropCol := len(xs) == 1, len(ys) == 1
	if dropRow {
		xs, tx = []int64{1, xs[0]}, false
	}
	if dropCol {
		ys, ty = []int64{ys[0], 1}, false
	}
	xb, yb := xs[:len(xs)-2], ys[:len(ys)-2]
	a := matrix{rows: int(xs[len(xs)-2]), cols: int(xs[len(xs)-1]), t: tx}
	b := matrix{rows: int(ys[len(ys)-2]), cols: int(ys[len(ys)-1]), t: ty}
	m, k := a.dims()
	k2, n := b.dims()
	if k != k2 {
		return c.fail("x of shape %s (transpose_x %v) has %d columns, y of shape %s (transpose_y %v) has %d rows",
			ir.ShapeString(x.Type.Shape), tx, k, ir.ShapeString(y.Type.Shape), ty, k2)
	}
	batch, ok := broadcastShape(xb, yb)
	if !ok {
		return c.fail("the leading dimensions of x, %s, and of y, %s, do not broadcast", ir.ShapeString(x.Type.Shape),
			ir.ShapeString(y.Type.Shape))
	}
	full := append(append([]int64(nil), batch...), int64(m), int64(n))
	if ir.TensorOf(ir.FP32, full...).Bytes() < 0 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(full))
	}
	shape := append([]int64(nil), batch...)
	if !dropRow {
		shape = append(shape, int64(m))
	}
	if !dropCol {
		shape = append(shape, int64(n))
	}
	job := batchJob{a: a, b: b, m: m, n: n, batch: append(append([]int64(nil), batch...), 1)}
	job.st = [][]int{broadcastStrides(append(append([]int64(nil), xb...), 1), job.batch),
		broadcastStrides(append(append([]int64(nil), yb...), 1), job.batch)}
	if integerProduct(x, y) {
		xi, yi := c.integers(x), c.integers(y)
		if c.err != nil || !c.reserve(8*int64(prod(full))) {
			return nil
		}
		return results(c.outInts(0, shape, job.ints(c, xi, yi, k, make([]int64, prod(full)))))
	}
	xf, yf := c.macFloats(x), c.macFloats(y)
	out := c.buffer(prod(full))
	job.run(c, xf, yf, out)
	if c.bound.Acc > 0 {
		sums := c.buffer(prod(full))
		job.run(c, c.squares(xf), c.squares(yf), sums)
		c.roots(sums)
	}
	return results(c.outMAC(0, shape, out))
}

// batchJob is a batch of matrix products with broadcast leading dimensions.
type batchJob struct {
	a, b  matrix // without data
	m, n  int
	batch []int64 // with a last dimension of 1
	st    [][]int // in matrices
}

func (j batchJob) run(c *call, xs, ys, out []float32) {
	if c.err != nil {
		return
	}
	sa, sb := j.a.rows*j.a.cols, j.b.rows*j.b.cols
	rows(j.batch, 0, prod(j.batch), j.st, func(at int, off []int) {
		a, b := j.a, j.b
		a.data = xs[off[0]*sa : (off[0]+1)*sa]
		b.data = ys[off[1]*sb : (off[1]+1)*sb]
		c.gemm(a, b, out[at*j.m*j.n:(at+1)*j.m*j.n])
	})
}

func (j batchJob) ints(c *call, xs, ys []int64, k int, out []int64) []int64 {
	sa, sb := j.a.rows*j.a.cols, j.b.rows*j.b.cols
	idx := func(m matrix, i, l int) int {
		if m.t {
			return l*m.cols + i
		}
		return i*m.cols + l
	}
	rows(j.batch, 0, prod(j.batch), j.st, func(at int, off []int) {
		if err := c.r.ctx.Err(); err != nil {
			c.fail("the run was stopped: %v", err)
			return
		}
		for i := range j.m {
			for q := range j.n {
				s := int64(0)
				for l := range k {
					s += xs[off[0]*sa+idx(j.a, i, l)] * ys[off[1]*sb+idx(j.b, l, q)]
				}
				out[at*j.m*j.n+i*j.n+q] = s
			}
		}
	})
	return out
}

// linear is x times the transpose of weight [out, in], plus bias.
func linear(c *call) []Tensor {
	x, w := c.numeric(ir.ParamX), c.numeric(ir.ParamWeight)
	if c.err != nil {
		return nil
	}
	if x.Type.Rank() == 0 || w.Type.Rank() != 2 || x.Type.Shape[x.Type.Rank()-1] != w.Type.Shape[1] {
		return c.fail("x of shape %s and weight of shape %s: weight must be [outputs, %s]",
			ir.ShapeString(x.Type.Shape), ir.ShapeString(w.Type.Shape), "inputs of x")
	}
	in, out := int(w.Type.Shape[1]), int(w.Type.Shape[0])
	lead := x.Type.Shape[:x.Type.Rank()-1]
	shape := append(append([]int64(nil), lead...), int64(out))
	if ir.TensorOf(ir.FP32, shape...).Bytes() < 0 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(shape))
	}
	n := prod(lead)
	if integerProduct(x, w) {
		xi, wi := c.integers(x), c.integers(w)
		if c.err != nil || !c.reserve(8*int64(n*out)) {
			return nil
		}
		j := batchJob{
			a:     matrix{rows: n, cols: in},
			b:     matrix{rows: out, cols: in, t: true},
			m:     n,
			n:     out,
			batch: []int64{1},
			st:    [][]int{{0}, {0}},
		}
		res := j.ints(c, xi, wi, in, make([]int64, n*out))
		if b, ok := c.opt(ir.ParamBias); ok {
			if b.Elems() != out || b.Type.DType.IsFloat() {
				return c.fail("bias is %s, needs %d integers", b.Type, out)
			}
			for i, v := range b.Ints() {
				for r := range n {
					res[r*out+i] += v
				}
			}
		}
		return results(c.outInts(0, shape, res))
	}
	bias := c.vector(ir.ParamBias, out, 0)
	xs, ws, res := c.macFloats(x), c.macFloats(w), c.buffer(n*out)
	a, b := matrix{data: xs, rows: n, cols: in}, matrix{data: ws, rows: out, cols: in, t: true}
	c.gemm(a, b, res)
	if c.err != nil {
		return nil
	}
	for i := range res {
		res[i] += bias[i%out]
	}
	if c.bound.Acc > 0 {
		sums := c.buffer(n * out)
		a.data, b.data = c.squares(xs), c.squares(ws)
		c.gemm(a, b, sums)
		c.roots(sums)
	}
	return results(c.outMAC(0, shape, res))
}
