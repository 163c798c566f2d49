package exact

import (
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// Blocks of a product are so large that the second cache has their columns, for the usual numbers of terms.
const (
	blockRows    = 256
	blockColumns = 192
)

// matrix is a view of elements: element (i, j) is at i*row + j*column.
type matrix struct {
	v           []field.Elem
	row, column int
}

// dense returns a matrix whose rows have n elements, one after the other.
func dense(v []field.Elem, n int) matrix { return matrix{v, n, 1} }

// transposed exchanges rows and columns.
func (m matrix) transposed() matrix { return matrix{m.v, m.column, m.row} }

// block returns a part of a matrix with rows one after the other: as it is if they are, or else a copy.
func (m matrix) block(row, column, rows, columns int) matrix {
	from := m.v[row*m.row+column*m.column:]
	if m.column == 1 {
		return matrix{from, m.row, 1}
	}
	out := dense(make([]field.Elem, rows*columns), columns)
	out.set(matrix{from, m.row, m.column}, rows, columns)
	return out
}

// set copies elements of another matrix.
func (m matrix) set(from matrix, rows, columns int) {
	for j := range columns {
		for i := range rows {
			m.v[i*m.row+j*m.column] = from.v[i*from.row+j*from.column]
		}
	}
}

// multiply writes the product of w, of m rows of k elements, and b, of n columns, to out.
func (e *Evaluator) multiply(out, w, b matrix, m, k, n int) {
	if k == 0 {
		for i := range m * n {
			out.v[i/n*out.row+i%n*out.column] = 0
		}
		return
	}
	if e.Form.Replaces(k) {
		if out.column != 1 {
			out, w, b, m, n = out.transposed(), b.transposed(), w.transposed(), n, m
		}
		terms := e.Form.Terms(k)
		own := e.memory.Zeros(terms * (m + n))
		defer e.memory.Give(own)
		w, b = e.combined(own[:terms*m], w, m, k), e.combined(own[terms*m:], b.transposed(), n, k).transposed()
		k = terms
	}
	w = w.block(0, 0, m, k)
	cuts, parts := (n+blockColumns-1)/blockColumns, (m+blockRows-1)/blockRows
	parallel(parts*cuts, k*min(m, blockRows)*min(n, blockColumns), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, column := i%parts*blockRows, i/parts*blockColumns
			rows, columns := min(blockRows, m-row), min(blockColumns, n-column)
			part, at := b.block(0, column, k, columns), make([]int, k)
			for l := range at {
				at[l] = l * part.row
			}
			to := matrix{out.v[row*out.row+column*out.column:], out.row, out.column}
			c := to
			if out.column != 1 {
				c = dense(make([]field.Elem, rows*columns), columns)
			} else {
				for r := range rows {
					clear(c.v[r*c.row:][:columns])
				}
			}
			field.AddMul(c.v, c.row, w.v[row*w.row:], w.row, rows, part.v, at, columns)
			if out.column != 1 {
				to.set(c, rows, columns)
			}
		}
	})
}

// combinedSize is the work of one row for parallel, which then has enough rows at a time for the kernel.
const combinedSize = 1 << 7

// combined writes the combinations of the k elements of each of m rows over zeros.
func (e *Evaluator) combined(out []field.Elem, rows matrix, m, k int) matrix {
	terms := e.Form.Terms(k)
	if rows.column == 1 {
		parallel(m, combinedSize, func(lo, hi int) {
			e.Form.Rows(out[lo*terms:], rows.v[lo*rows.row:], rows.row, hi-lo, k)
		})
		return dense(out, terms)
	}
	at := make([]int, k)
	for l := range at {
		at[l] = l * rows.column
	}
	parallel(m, combinedSize, func(lo, hi int) { e.Form.Columns(out[lo:], m, rows.v[lo:], at, hi-lo) })
	return dense(out, m).transposed()
}

// addRows adds a number to each row of n elements, if there are any.
func addRows(v, numbers []field.Elem, n int) {
	for i, x := range numbers {
		field.AddRow(v[i*n:][:n], []field.Elem{x})
	}
}

func linear(c *call) []Tensor {
	x, w := c.need(ir.ParamX), c.need(ir.ParamWeight)
	n, k := int(w.Type.Shape[0]), int(w.Type.Shape[1])
	if !c.floats() || k == 0 {
		return nil
	}
	m := len(x.Elems) / k
	out := c.memory.Take(m * n)
	c.multiply(dense(out, n).transposed(), dense(w.Elems, k), dense(x.Elems, k).transposed(), n, k, m)
	if b, ok := c.arg(ir.ParamBias); ok {
		for i := range m {
			field.AddRow(out[i*n:][:n], b.Elems)
		}
	}
	return []Tensor{c.out(0, out)}
}

func matmul(c *call) []Tensor {
	a, err := ir.MatMulAttrs(c.op)
	if err != nil || !c.floats() {
		return nil
	}
	// A vector has no batch dimensions.
	matrices := func(t Tensor, vector bool) Tensor {
		if vector {
			return Tensor{ir.TensorOf(t.Type.DType, 1, 1), t.Elems}
		}
		return t
	}
	x, y := matrices(c.need(ir.ParamX), a.VectorX), matrices(c.need(ir.ParamY), a.VectorY)
	return []Tensor{c.out(0, c.matrices(x, y, a, c.op.Arg(ir.ParamY).IsConst()))}
}

// matrices multiplies matrices, the last two dimensions, whose batch dimensions broadcast. The rows that are multiplied
// are the columns of y if it is constant, since numbers of fp16 take less time as rows.
func (e *Evaluator) matrices(x, y Tensor, a ir.MatMul, constant bool) []field.Elem {
	batch := func(t Tensor) Tensor { return Tensor{t.Type.WithShape(t.Type.Shape[:t.Type.Rank()-2]...), t.Elems} }
	m, k, n := int(a.M), int(a.K), int(a.N)
	st := broadcastStrides(a.Batch, []Tensor{batch(x), batch(y)})
	count := int(extent(a.Batch, nil))
	if slices.Contains(a.Batch, 0) {
		count = 0
	}
	out := e.memory.Take(count * m * n)
	for i := range count {
		var at [2]int
		for d, r := len(a.Batch)-1, i; d >= 0; d-- {
			for s := range at {
				at[s] += r % int(a.Batch[d]) * st[s][d]
			}
			r /= int(a.Batch[d])
		}
		p, q, c := dense(x.Elems[at[0]*m*k:], k), dense(y.Elems[at[1]*k*n:], n), dense(out[i*m*n:], n)
		if a.TransposeX {
			p = dense(p.v, m).transposed()
		}
		if a.TransposeY {
			q = dense(q.v, k).transposed()
		}
		if constant {
			e.multiply(c.transposed(), q.transposed(), p.transposed(), n, k, m)
		} else {
			e.multiply(c, p, q, m, k, n)
		}
	}
	return out
}

// operand is an operand of an equation with the letters of its dimensions.
type operand struct {
	Tensor
	letters string
}

// arranged returns the elements in the order of other letters. A letter that the operand has twice is a diagonal.
func (o operand) arranged(letters string, size map[rune]int64) []field.Elem {
	own := broadcastStrides(o.Type.Shape, []Tensor{o.Tensor})[0]
	out := []int{0}
	for _, l := range letters {
		step := 0
		for d, r := range o.letters {
			if r == l {
				step += own[d]
			}
		}
		next := make([]int, 0, len(out)*int(size[l]))
		for _, at := range out {
			for k := range int(size[l]) {
				next = append(next, at+k*step)
			}
		}
		out = next
	}
	elems := make([]field.Elem, len(out))
	for i, at := range out {
		elems[i] = o.Elems[at]
	}
	return elems
}

// einsum sums the products of two operands over the letters that the result lacks, first the letters of one operand
// alone.
// Letters of both and the result count matrices, others of the result are rows or columns.
func einsum(c *call) []Tensor {
	eq, _ := ir.ArgString(c.op, ir.ParamEquation)
	terms, result, ok := ir.ParseEinsum(eq)
	vs := c.op.ArgList(ir.ParamValues)
	if !ok || len(terms) != 2 || len(vs) != 2 || !c.op.Results[0].Type.DType.IsFloat() ||
		c.op.Results[0].Type.Elems() == 0 {
		return nil
	}
	size := map[rune]int64{}
	for i, t := range terms {
		for d, l := range t {
			size[l] = max(size[l], vs[i].Type.Shape[d])
		}
	}
	var in [2]operand
	has := [2]map[rune]bool{{}, {}} // a dimension of 1 that is larger in the other operand repeats
	for i, t := range terms {
		in[i] = operand{c.Value(c.in, vs[i]), t}
		for d, l := range t {
			has[i][l] = has[i][l] || vs[i].Type.Shape[d] == size[l]
		}
	}
	var batch, sum, rows, columns string
	var alone [2]string
	seen := ""
	for _, l := range result + terms[0] + terms[1] {
		out := strings.ContainsRune(result, l)
		switch x, y := has[0][l], has[1][l]; {
		case strings.ContainsRune(seen, l):
		case x && y && out:
			batch += string(l)
		case x && y:
			sum += string(l)
		case x && out:
			rows += string(l)
		case y && out:
			columns += string(l)
		case x:
			alone[0] += string(l)
		case y:
			alone[1] += string(l)
		}
		seen += string(l)
	}
	extent := func(letters string) int {
		n := int64(1)
		for _, l := range letters {
			n *= size[l]
		}
		return int(n)
	}
	summed := func(i int, letters string) []field.Elem {
		v := in[i].arranged(letters+alone[i], size)
		n := extent(alone[i])
		if n == 1 {
			return v
		}
		out := make([]field.Elem, len(v)/max(n, 1))
		for k := range out {
			out[k] = field.Sum(v[k*n:][:n])
		}
		return out
	}
	x, y := summed(0, batch+rows+sum), summed(1, batch+sum+columns)
	m, k, n := extent(rows), extent(sum), extent(columns)
	z := make([]field.Elem, extent(batch)*m*n)
	for i := range extent(batch) {
		c.multiply(dense(z[i*m*n:], n), dense(x[i*m*k:], k), dense(y[i*k*n:], n), m, k, n)
	}
	made := batch + rows + columns
	var shape []int64
	for _, l := range made {
		shape = append(shape, size[l])
	}
	product := operand{Tensor{c.op.Results[0].Type.WithShape(shape...), z}, made}
	return []Tensor{c.out(0, product.arranged(result, size))}
}

// windows lists, for each window of a convolution or a pooling and each of its taps, the position in the image, or -1
// outside it.
func windows(in, kernel, strides, dilations, before, out []int64) (at [][]int, taps int) {
	at, taps = [][]int{{0}}, 1
	for d := range in {
		next := make([][]int, 0, len(at)*int(out[d]))
		for _, w := range at {
			for o := range out[d] {
				row := make([]int, 0, len(w)*int(kernel[d]))
				for _, p := range w {
					for t := range kernel[d] {
						i := o*strides[d] + t*dilations[d] - before[d]
						if p < 0 || i < 0 || i >= in[d] {
							row = append(row, -1)
						} else {
							row = append(row, p*int(in[d])+int(i))
						}
					}
				}
				next = append(next, row)
			}
		}
		at, taps = next, taps*int(kernel[d])
	}
	return at, taps
}

func conv(c *call) []Tensor {
	a, err := ir.ConvAttrs(c.op)
	if err != nil || !c.floats() {
		return nil
	}
	x, w := c.need(ir.ParamX), c.need(ir.ParamWeight)
	bias, biased := c.arg(ir.ParamBias)
	n, cin, cout, g := int(x.Type.Shape[0]), int(x.Type.Shape[1]), int(w.Type.Shape[0]), int(a.Groups)
	at, taps := windows(a.In, a.Kernel, a.Strides, a.Dilations, a.PadBefore, a.Out)
	plane, pixels := int(extent(a.In, nil)), len(at)
	in, rows := cin/g, cout/g
	red := in * taps
	out, seen := c.memory.Take(n*cout*pixels), c.memory.Take(red*pixels)
	defer c.memory.Give(seen)
	for i := range n * g {
		image := x.Elems[i*in*plane:][:in*plane]
		parallel(in, pixels*taps, func(lo, hi int) {
			for ch := lo; ch < hi; ch++ {
				for p, win := range at {
					for t, place := range win {
						v := field.Elem(0)
						if place >= 0 {
							v = image[ch*plane+place]
						}
						seen[(ch*taps+t)*pixels+p] = v
					}
				}
			}
		})
		y := out[i*rows*pixels:][:rows*pixels]
		c.multiply(dense(y, pixels), dense(w.Elems[i%g*rows*red:], red), dense(seen, pixels), rows, red, pixels)
		if biased {
			addRows(y, bias.Elems[i%g*rows:][:rows], pixels)
		}
	}
	return []Tensor{c.out(0, out)}
}

// convTranspose adds the products of each element to the places of its taps in the result.
func convTranspose(c *call) []Tensor {
	a, err := ir.ConvAttrs(c.op)
	if err != nil || !c.floats() {
		return nil
	}
	x, w := c.need(ir.ParamX), c.need(ir.ParamWeight)
	bias, biased := c.arg(ir.ParamBias)
	n, g := int(x.Type.Shape[0]), int(a.Groups)
	in, rows := int(x.Type.Shape[1])/g, int(w.Type.Shape[1])
	at, taps := windows(a.Out, a.Kernel, a.Strides, a.Dilations, a.PadBefore, a.In)
	plane, pixels := int(extent(a.Out, nil)), len(at)
	out := c.memory.Zeros(n * g * rows * plane)
	parts := c.memory.Take(rows * taps * pixels)
	defer c.memory.Give(parts)
	for i := range n * g {
		c.multiply(dense(parts, pixels), dense(w.Elems[i%g*in*rows*taps:], rows*taps).transposed(),
			dense(x.Elems[i*in*pixels:], pixels), rows*taps, in, pixels)
		parallel(rows, pixels*taps, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				y := out[(i*rows+r)*plane:][:plane]
				if biased {
					for k := range y {
						y[k] = bias.Elems[i%g*rows+r]
					}
				}
				for p, places := range at {
					for t, place := range places {
						if place >= 0 {
							y[place] = field.Add(y[place], parts[(r*taps+t)*pixels+p])
						}
					}
				}
			}
		})
	}
	return []Tensor{c.out(0, out)}
}

func pool(c *call) []Tensor {
	a, err := ir.PoolAttrs(c.op)
	if err != nil || !c.floats() || slices.Contains(a.In, 0) {
		return nil
	}
	if c.op.Is(ir.OpMaxPool) {
		return c.pooled(a, false, greatest)
	}
	return c.pooled(a, !a.ExcludePadding, mean)
}

// pooled reduces the elements under each window, with zeros for the padding if that is included.
func (c *call) pooled(a ir.Pool, padded bool, reduced func(c *call, row []field.Elem) field.Elem) []Tensor {
	x := c.need(ir.ParamX)
	ones := slices.Repeat([]int64{1}, len(a.Kernel))
	at, taps := windows(a.In, a.Kernel, a.Strides, ones, a.PadBefore, a.Out)
	plane := int(extent(a.In, nil))
	planes := len(x.Elems) / plane
	out := make([]field.Elem, planes*len(at))
	parallel(planes, len(at)*taps, func(lo, hi int) {
		row := make([]field.Elem, 0, taps)
		for i := lo; i < hi; i++ {
			for p, win := range at {
				row = row[:0]
				for _, place := range win {
					if place >= 0 {
						row = append(row, x.Elems[i*plane+place])
					} else if padded {
						row = append(row, 0)
					}
				}
				out[i*len(at)+p] = reduced(c, row)
			}
		}
	})
	return []Tensor{c.out(0, out)}
}
