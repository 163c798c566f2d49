package prove

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// blockColumns is the number of columns of a product that are computed at a time.
const blockColumns = 192

// multiply returns w * b, for m rows of k and k rows of n elements, and adds bias[i] to row i if there is a bias.
func multiply(out, w, b []field.Elem, m, k, n int, bias []field.Elem) {
	at := make([]int, k)
	for l := range at {
		at[l] = l * n
	}
	const rows = 64
	cuts, parts := (n+blockColumns-1)/blockColumns, (m+rows-1)/rows
	parallel(parts*cuts, k*min(m, rows)*min(n, blockColumns), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row, from := i%parts*rows, i/parts*blockColumns
			count, cols := min(rows, m-row), min(blockColumns, n-from)
			for r := row; r < row+count; r++ {
				c, first := out[r*n+from:][:cols], field.Elem(0)
				if bias != nil {
					first = bias[r]
				}
				for j := range c {
					c[j] = first
				}
			}
			field.AddMul(out[row*n+from:], n, w[row*k:], k, count, b[from:], at, cols)
		}
	})
}

// turn returns a matrix of m rows of n elements with rows and columns exchanged.
func turn(x []field.Elem, m, n int) []field.Elem {
	out := make([]field.Elem, m*n)
	for i := range m {
		for j := range n {
			out[j*m+i] = x[i*n+j]
		}
	}
	return out
}

func linear(c *call) []tensor {
	x, w := c.need(ir.ParamX), c.need(ir.ParamWeight)
	n, k := int(w.typ.Shape[0]), int(w.typ.Shape[1])
	if !c.floats() || k == 0 {
		return nil
	}
	m := len(x.v) / k
	out := make([]field.Elem, m*n)
	multiply(out, w.v, turn(x.v, m, k), n, k, m, nil)
	out = turn(out, n, m)
	if b, ok := c.arg(ir.ParamBias); ok {
		for i := range out {
			out[i] = field.Add(out[i], b.v[i%n])
		}
	}
	return []tensor{c.out(0, out)}
}

func matmul(c *call) []tensor {
	a, err := ir.MatMulAttrs(c.op)
	if err != nil || !c.floats() {
		return nil
	}
	// A vector has no batch dimensions.
	matrices := func(t tensor, vector bool) tensor {
		if vector {
			return tensor{ir.TensorOf(t.typ.DType, 1, 1), t.v}
		}
		return t
	}
	x, y := matrices(c.need(ir.ParamX), a.VectorX), matrices(c.need(ir.ParamY), a.VectorY)
	return []tensor{c.out(0, products(x, y, a))}
}

// products multiplies matrices, the last two dimensions, whose batch dimensions broadcast.
func products(x, y tensor, a ir.MatMul) []field.Elem {
	batch := func(t tensor) tensor { return tensor{t.typ.WithShape(t.typ.Shape[:t.typ.Rank()-2]...), t.v} }
	m, k, n := int(a.M), int(a.K), int(a.N)
	st := spread(a.Batch, []tensor{batch(x), batch(y)})
	count := int(extent(a.Batch, nil))
	if slices.Contains(a.Batch, 0) {
		count = 0
	}
	out := make([]field.Elem, count*m*n)
	for i := range count {
		var at [2]int
		for d, r := len(a.Batch)-1, i; d >= 0; d-- {
			for s := range at {
				at[s] += r % int(a.Batch[d]) * st[s][d]
			}
			r /= int(a.Batch[d])
		}
		p, q := x.v[at[0]*m*k:][:m*k], y.v[at[1]*k*n:][:k*n]
		if a.TransposeX {
			p = turn(p, k, m)
		}
		if a.TransposeY {
			q = turn(q, n, k)
		}
		multiply(out[i*m*n:][:m*n], p, q, m, k, n, nil)
	}
	return out
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

func conv(c *call) []tensor {
	a, err := ir.ConvAttrs(c.op)
	if err != nil || !c.floats() {
		return nil
	}
	x, w := c.need(ir.ParamX), c.need(ir.ParamWeight)
	bias, biased := c.arg(ir.ParamBias)
	n, cin, cout, g := int(x.typ.Shape[0]), int(x.typ.Shape[1]), int(w.typ.Shape[0]), int(a.Groups)
	at, taps := windows(a.In, a.Kernel, a.Strides, a.Dilations, a.PadBefore, a.Out)
	plane, pixels := int(extent(a.In, nil)), len(at)
	in, rows := cin/g, cout/g
	red := in * taps
	out := make([]field.Elem, n*cout*pixels)
	seen := make([]field.Elem, red*pixels)
	for i := range n * g {
		image := x.v[i*in*plane:][:in*plane]
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
		var b []field.Elem
		if biased {
			b = bias.v[i%g*rows:][:rows]
		}
		multiply(out[i*rows*pixels:][:rows*pixels], w.v[i%g*rows*red:][:rows*red], seen, rows, red, pixels, b)
	}
	return []tensor{c.out(0, out)}
}

// convTranspose adds the products of each element to the places of its taps in the result.
func convTranspose(c *call) []tensor {
	a, err := ir.ConvAttrs(c.op)
	if err != nil || !c.floats() {
		return nil
	}
	x, w := c.need(ir.ParamX), c.need(ir.ParamWeight)
	bias, biased := c.arg(ir.ParamBias)
	n, g := int(x.typ.Shape[0]), int(a.Groups)
	in, rows := int(x.typ.Shape[1])/g, int(w.typ.Shape[1])
	at, taps := windows(a.Out, a.Kernel, a.Strides, a.Dilations, a.PadBefore, a.In)
	plane, pixels := int(extent(a.Out, nil)), len(at)
	out := make([]field.Elem, n*g*rows*plane)
	parts := make([]field.Elem, rows*taps*pixels)
	for i := range n * g {
		tap := turn(w.v[i%g*in*rows*taps:][:in*rows*taps], in, rows*taps)
		multiply(parts, tap, x.v[i*in*pixels:][:in*pixels], rows*taps, in, pixels, nil)
		parallel(rows, pixels*taps, func(lo, hi int) {
			for r := lo; r < hi; r++ {
				y := out[(i*rows+r)*plane:][:plane]
				if biased {
					for k := range y {
						y[k] = bias.v[i%g*rows+r]
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
	return []tensor{c.out(0, out)}
}

func pool(c *call) []tensor {
	a, err := ir.PoolAttrs(c.op)
	if err != nil || !c.floats() {
		return nil
	}
	x := c.need(ir.ParamX)
	ones := make([]int64, len(a.Kernel))
	for i := range ones {
		ones[i] = 1
	}
	at, taps := windows(a.In, a.Kernel, a.Strides, ones, a.PadBefore, a.Out)
	plane := int(extent(a.In, nil))
	if slices.Contains(a.In, 0) {
		return nil
	}
	planes := len(x.v) / plane
	out := make([]field.Elem, planes*len(at))
	largest := c.op.Is(ir.OpMaxPool)
	share := field.Inv(field.Int(int64(taps)))
	parallel(planes, len(at)*taps, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for p, win := range at {
				s, n := field.Elem(0), 0
				for _, place := range win {
					if place < 0 {
						continue
					}
					n++
					y := x.v[i*plane+place]
					if largest {
						y = c.Order(y)
					}
					s = field.Add(s, y)
				}
				switch {
				case largest:
					s = c.Unorder(s)
				case a.ExcludePadding && n > 0:
					s = field.Mul(s, field.Inv(field.Int(int64(n))))
				default:
					s = field.Mul(s, share)
				}
				out[i*len(at)+p] = s
			}
		}
	})
	return []tensor{c.out(0, out)}
}
