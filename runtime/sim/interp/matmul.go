package interp

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/vector"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpMatMul: matmul,
	ir.OpLinear: linear,
})

// matrix is a row-major matrix, read transposed if t is set: rows and cols are the extents of the stored form.
type matrix struct {
	data       []float32
	rows, cols int
	t          bool
}

func (m matrix) dims() (r, c int) {
	if m.t {
		return m.cols, m.rows
	}
	return m.rows, m.cols
}

// view returns the matrix as it is read.
func (m matrix) view() vector.Matrix {
	v := vector.Matrix{Data: m.data, Rows: m.rows, Cols: m.cols, RowStep: m.cols, ColStep: 1}
	if m.t {
		v.Rows, v.Cols, v.RowStep, v.ColStep = m.cols, m.rows, 1, m.cols
	}
	return v
}

// part returns rows of a matrix, or its columns where they are given.
func part(m vector.Matrix, row, rows, col, cols int) vector.Matrix {
	m.Data = m.Data[row*m.RowStep+col*m.ColStep:]
	m.Rows, m.Cols = rows, cols
	return m
}

// A product is computed in pieces of this many rows and columns; the context is checked between pieces.
const (
	gemmRows    = 128
	gemmColumns = 768
)

// gemm adds a*b to out (row major, rows of a by columns of b). Each element of the result is the sum over k in order,
// regardless of the number of goroutines. In fixed point what is in out is the first term. Elsewhere on the engine a
// product or a sum without a value counts as 0, and except in the mode ANEWide the products go through the
// accumulator's first stage.
func (c *call) gemm(a, b matrix, out []float32) {
	if c.err != nil {
		return
	}
	m, k := a.dims()
	_, n := b.dims()
	if m == 0 || n == 0 || k == 0 {
		return
	}
	av, bv := a.view(), b.view()
	columns := (n + gemmColumns - 1) / gemmColumns
	pieces := (m + gemmRows - 1) / gemmRows * columns
	c.parallel(pieces, 1+(1<<16)/(min(m, gemmRows)*min(n, gemmColumns)*k), func(lo, hi int) {
		for p := lo; p < hi && c.r.ctx.Err() == nil; p++ {
			i, j := p/columns*gemmRows, p%columns*gemmColumns
			rows, cols := min(gemmRows, m-i), min(gemmColumns, n-j)
			c.piece(part(av, i, rows, 0, k), part(bv, 0, k, j, cols), out[i*n+j:], n)
		}
	})
	if err := c.r.ctx.Err(); err != nil {
		c.fail("the run was stopped: %v", err)
	}
}

// piece adds a*b to out, whose rows are ld apart.
func (c *call) piece(a, b vector.Matrix, out []float32, ld int) {
	switch {
	case c.fixed:
		for i := range a.Rows {
			for j := range b.Cols {
				out[i*ld+j] = fixedSum(out[i*ld+j], a, b, i, j)
			}
		}
	case c.ane:
		sum := vector.Rounded
		if c.staged {
			sum = vector.Staged
		}
		s := make([]float32, a.Rows*b.Cols)
		sum.Multiply(s, b.Cols, a, b)
		for i := range a.Rows {
			to := out[i*ld:][:b.Cols]
			for j, v := range s[i*b.Cols:][:b.Cols] {
				if v != v {
					v = c.special(a, b, i, j)
				}
				to[j] = numerics.MACSum(to[j], v)
			}
		}
	case c.r.opt.WideSums:
		for i := range a.Rows {
			for j := range b.Cols {
				s := 0.0
				for l := range a.Cols {
					s += float64(a.Data[i*a.RowStep+l*a.ColStep]) * float64(b.Data[l*b.RowStep+j*b.ColStep])
				}
				out[i*ld+j] = float32(float64(out[i*ld+j]) + s)
			}
		}
	default:
		vector.Rounded.Multiply(out, ld, a, b)
	}
}

// fixedSum adds the products of one element in fixed point to what its sum begins at. A single product has the range of
// elementwise work, which no source measured.
func fixedSum(begin float32, a, b vector.Matrix, i, j int) float32 {
	row, col := a.Data[i*a.RowStep:], b.Data[j*b.ColStep:]
	if a.Cols == 1 {
		return begin + float32(row[0]*col[0])
	}
	s := numerics.NewFixedSum(begin)
	for l := range a.Cols {
		s.Add(row[l*a.ColStep], col[l*b.RowStep])
	}
	return s.Value()
}

// special is one element of a product on the engine in which infinities take part.
func (c *call) special(a, b vector.Matrix, i, j int) float32 {
	var acc numerics.Accumulator
	wide := float32(0)
	for l := range a.Cols {
		x, y := a.Data[i*a.RowStep+l*a.ColStep], b.Data[l*b.RowStep+j*b.ColStep]
		if c.staged {
			acc.Add(x, y)
		} else {
			wide = numerics.MACSum(wide, numerics.MACProduct(x, y))
		}
	}
	if c.staged {
		return acc.Sum()
	}
	return wide
}

// macFloats is floats for an operand of the multiply-accumulate.
func (c *call) macFloats(t Tensor) []float32 { return c.read(t, readProducts) }

// integerProduct reports whether the operands are integers, which are multiplied exactly.
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
	xf, yf := c.shared(x, readProducts), c.shared(y, readProducts)
	out := c.buffer(prod(full))
	job.run(c, xf, yf, out)
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
	xs, ws, res := c.shared(x, readProducts), c.shared(w, readProducts), c.buffer(n*out)
	a, b := matrix{data: xs, rows: n, cols: in}, matrix{data: ws, rows: out, cols: in, t: true}
	biases := func() {
		c.parallel(n, 1+rowGrain/max(1, out), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				row := res[r*out:][:out]
				for i, b := range bias[:out] {
					row[i] += b
				}
			}
		})
	}
	if c.err == nil && c.fixed {
		biases() // the first terms
	}
	c.gemm(a, b, res)
	if c.err != nil {
		return nil
	}
	if !c.fixed {
		biases()
	}
	return results(c.outMAC(0, shape, res))
}
