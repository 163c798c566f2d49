package interp

import "math"

// broadcastShape returns the shape that two shapes broadcast to, aligned at the
// right as numpy does.
func broadcastShape(a, b []int64) ([]int64, bool) {
	n := max(len(a), len(b))
	out := make([]int64, n)
	for i := range out {
		da, db := int64(1), int64(1)
		if j := i - n + len(a); j >= 0 {
			da = a[j]
		}
		if j := i - n + len(b); j >= 0 {
			db = b[j]
		}
		switch {
		case da == db || db == 1:
			out[i] = da
		case da == 1:
			out[i] = db
		default:
			return nil, false
		}
	}
	return out, true
}

// broadcastStrides returns the strides with which a tensor of the given shape
// is read in a loop over out: 0 where it repeats.
func broadcastStrides(shape, out []int64) []int {
	st := make([]int, len(out))
	own := strides(shape)
	for i := range shape {
		if j := i + len(out) - len(shape); shape[i] != 1 {
			st[j] = own[i]
		}
	}
	return st
}

// rows calls f for each of the rows lo to hi of a shape, where a row is a run of the last dimension: with the row's
// first element and its offsets in operands with the given strides. The last dimension's stride is the last one of each
// operand.
func rows(shape []int64, lo, hi int, st [][]int, f func(at int, off []int)) {
	n := len(shape)
	if lo >= hi {
		return
	}
	width := 1
	if n > 0 {
		width = int(shape[n-1])
	}
	outer := max(0, n-1)
	idx := make([]int, outer)
	off := make([]int, len(st))
	rest := lo
	for d := outer - 1; d >= 0; d-- {
		idx[d] = rest % int(shape[d])
		rest /= int(shape[d])
		for k := range st {
			off[k] += idx[d] * st[k][d]
		}
	}
	for row := lo; row < hi; row++ {
		f(row*width, off)
		for d := outer - 1; d >= 0; d-- {
			idx[d]++
			for k := range st {
				off[k] += st[k][d]
			}
			if idx[d] < int(shape[d]) {
				break
			}
			for k := range st {
				off[k] -= idx[d] * st[k][d]
			}
			idx[d] = 0
		}
	}
}

// split returns the number of rows of a shape and their width; there are no rows if the shape is empty.
func split(shape []int64) (n, width int) {
	if len(shape) == 0 {
		return 1, 1
	}
	width = int(shape[len(shape)-1])
	if width == 0 {
		return 0, 0
	}
	return prod(shape) / width, width
}

// zip2 computes out[i] = f(x, y) over broadcast operands.
func zip2[A, B, R any](c *call, shape []int64, xs []A, xshape []int64, ys []B, yshape []int64, out []R,
	f func(A, B) R) {
	n, width := split(shape)
	st := [][]int{broadcastStrides(xshape, shape), broadcastStrides(yshape, shape)}
	sx, sy := 0, 0
	if len(shape) > 0 {
		sx, sy = st[0][len(shape)-1], st[1][len(shape)-1]
	}
	c.parallel(n, 1+16384/max(1, width), func(lo, hi int) {
		rows(shape, lo, hi, st, func(at int, off []int) {
			x, y := off[0], off[1]
			for i := range width {
				out[at+i] = f(xs[x], ys[y])
				x += sx
				y += sy
			}
		})
	})
}

// zipRows is zip2 for a function of rows.
func zipRows(c *call, shape []int64, xs []float32, xshape []int64, ys []float32, yshape []int64, out []float32,
	f func(out, xs, ys []float32)) {
	n, width := split(shape)
	st := [][]int{broadcastStrides(xshape, shape), broadcastStrides(yshape, shape)}
	c.parallel(n, 1+16384/max(1, width), func(lo, hi int) {
		x, y := newRow(st[0], width), newRow(st[1], width)
		rows(shape, lo, hi, st, func(at int, off []int) {
			f(out[at:][:width], x.at(xs, off[0]), y.at(ys, off[1]))
		})
	})
}

// row reads rows of an operand.
type row struct {
	width int
	same  []float32 // the element of a row that repeats, width times; nil for other rows
}

// newRow returns a reader of rows of an operand with these strides.
func newRow(st []int, width int) row {
	if len(st) > 0 && st[len(st)-1] == 0 && width > 1 {
		return row{width, make([]float32, width)}
	}
	return row{width, nil}
}

// at returns the row from an offset on, which must not be changed.
func (r *row) at(vs []float32, off int) []float32 {
	if r.same == nil {
		return vs[off:][:r.width]
	}
	if v := vs[off]; math.Float32bits(r.same[0]) != math.Float32bits(v) {
		for i := range r.same {
			r.same[i] = v
		}
	}
	return r.same
}
