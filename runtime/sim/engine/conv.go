package engine

import "github.com/zinc-compiler/zinc/numerics/vector"

// matrix is a view of numbers, as vector.Matrix is.
type matrix[T any] struct {
	Data             []T
	Rows, Cols       int
	RowStep, ColStep int
}

// Sizes of a block of a product: rows of outputs and columns of pixels. The sum over red runs in the same order in any
// block, so blocking changes no bit.
const (
	blockRows   = 64
	blockPixels = 192
	blockFloats = 1 << 23 // limit of a gathered block of pixels
)

// convolve computes a dense or grouped convolution.
func (x *exec[T, R]) convolve(p poster[T, R], g *geometry, k *kernel[T], v []T, out []R) error {
	direct := g.kw == 1 && g.kh == 1 && g.sx == 1 && g.sy == 1 && g.px == 0 && g.py == 0 && g.in[axH] == g.out[axH] &&
		g.in[axW] == g.out[axW]
	if !direct && g.small() {
		return x.shifted(p, g, k, v, out)
	}
	return x.gathered(p, g, k, v, out, direct)
}

// gathered computes a convolution as products of matrices: the coefficients, and the pixels that each result sees.
// direct reports that those pixels are the image as it is.
func (x *exec[T, R]) gathered(p poster[T, R], g *geometry, k *kernel[T], v []T, out []R, direct bool) error {
	cin, cout, red := g.in[axC], g.out[axC], g.red
	pixels := g.out[axH] * g.out[axW]
	cols := max(1, min(blockPixels, pixels, blockFloats/red))
	cuts := (pixels + cols - 1) / cols
	// A block of pixels is gathered once for all outputs, unless there are so few blocks that the outputs must be
	// shared out too.
	rows := cout
	if cuts*g.out[axG]*g.out[axD] < 8 {
		rows = min(cout, max(blockRows, (cout/8+blockRows-1)/blockRows*blockRows))
	}
	parts := (cout + rows - 1) / rows
	inPlane := g.in[axH] * g.in[axW]
	jobs := g.out[axG] * g.out[axD] * parts * cuts
	return x.each(jobs, 1, func(lo, hi int) {
		acc, left := x.borrow(rows*cols), x.borrow(rows)
		defer x.giveBack(acc)
		defer x.giveBack(left)
		var block *scratch[T]
		if !direct {
			block = x.borrow(red * cols)
			defer x.giveBack(block)
		}
		for i := lo; i < hi; i++ {
			if x.ctx.Err() != nil {
				return
			}
			gd, part, cut := i/(parts*cuts), i/cuts%parts, i%cuts
			grp := gd / g.out[axD]
			from := cut * cols
			n := min(cols, pixels-from)
			b := matrix[T]{Data: v[gd*cin*inPlane:][:cin*inPlane], Rows: red, Cols: n, RowStep: inPlane, ColStep: 1}
			if direct {
				b.Data = b.Data[from:]
			} else {
				gather(g, block.v, b.Data, from, n)
				b.Data, b.RowStep = block.v[:red*n], n
			}
			first := part * rows
			m := min(rows, cout-first)
			w := matrix[T]{Data: k.w[(grp*cout+first)*red:][:m*red], Rows: m, Cols: red, RowStep: red, ColStep: 1}
			c, biases := acc.v[:m*n], left.v[:m]
			for j := range m {
				biases[j] = x.num.begin(c[j*n:][:n], k.biasOf(grp*cout+first+j))
			}
			x.num.multiply(c, w, b)
			for j, bias := range biases {
				p.row(out[(gd*cout+first+j)*pixels+from:][:n], c[j*n:][:n], bias)
			}
		}
	})
}

// smallImage bounds the padded image, in elements, that shifted works on: it
// stays in the first cache.
const smallImage = 1 << 13

// small reports whether a convolution of step 1 has an image small enough for
// shifted.
func (g *geometry) small() bool {
	ph, pw := g.padded()
	return g.sx == 1 && g.sy == 1 && g.out[axH]*g.out[axW] > 4 && g.in[axC] <= smallImage && ph <= smallImage &&
		pw <= smallImage && g.in[axC]*ph*pw <= smallImage
}

// padded returns the extent of an image including the rows and columns that windows of step 1 reach.
func (g *geometry) padded() (height, width int) {
	return g.out[axH] + g.kh - 1, g.out[axW] + g.kw - 1
}

// shifted computes a convolution of step 1 on a small image without gathering its
// pixels: what a tap sees of the padded image is the image itself, shifted.
func (x *exec[T, R]) shifted(p poster[T, R], g *geometry, k *kernel[T], v []T, out []R) error {
	cin, cout, oh, ow := g.in[axC], g.out[axC], g.out[axH], g.out[axW]
	ph, pw := g.padded()
	H, W := g.in[axH], g.in[axW]
	image := x.numbers(cin*ph*pw + vector.Reach)
	at := x.taps[:0]
	for ci := range cin {
		at = g.taps(at, ci*ph*pw, pw)
	}
	x.taps = at
	// Rows of results are as wide as the padded image: the columns after the image's own are meaningless.
	n := (oh-1)*pw + ow
	for gd := range g.out[axG] * g.out[axD] {
		clear(image)
		// A padding may be wider than what the windows see.
		left := min(g.px, pw)
		for ci := range cin {
			for y := g.py; y < min(ph, H+g.py); y++ {
				row := v[((gd*cin+ci)*H+y-g.py)*W:][:W]
				copy(image[(ci*ph+y)*pw+left:][:pw-left], row)
			}
		}
		if err := x.each(cout, max(shiftedRows, grain(g.red*n)), func(lo, hi int) {
			acc := x.borrow(min(shiftedRows, hi-lo) * n)
			defer x.giveBack(acc)
			for o := lo; o < hi; o += shiftedRows {
				if x.ctx.Err() != nil {
					return
				}
				m := min(shiftedRows, hi-o)
				first := gd/g.out[axD]*cout + o
				var left [shiftedRows]T
				for i := range m {
					left[i] = x.num.begin(acc.v[i*n:][:n], k.biasOf(first+i))
				}
				x.num.add(acc.v, n, k.w[first*g.red:][:m*g.red], g.red, m, image, at, n)
				for i := range m {
					sums := acc.v[i*n:][:n]
					for y := range oh {
						copy(sums[y*ow:], sums[y*pw:][:ow])
					}
					p.row(out[(gd*cout+o+i)*oh*ow:][:oh*ow], sums[:oh*ow], left[i])
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// shiftedRows is how many outputs are computed at a time.
const shiftedRows = 16

// taps appends the positions in an image, whose rows are pw wide, of the taps of the first pixel that begin at an
// offset.
func (g *geometry) taps(at []int, offset, pw int) []int {
	for ky := range g.kh {
		for kx := range g.kw {
			at = append(at, offset+ky*pw+kx)
		}
	}
	return at
}

// gather arranges the inputs of n result pixels as [red][n].
func gather[T any](g *geometry, dst, src []T, from, n int) {
	H, W, ow := g.in[axH], g.in[axW], g.out[axW]
	at := 0
	for ci := range g.in[axC] {
		for ky := range g.kh {
			for kx := range g.kw {
				row := dst[at:][:n]
				at += n
				for i := 0; i < n; {
					oy, ox := (from+i)/ow, (from+i)%ow
					m := min(n-i, ow-ox)
					seg := row[i:][:m]
					i += m
					iy := oy*g.sy + ky - g.py
					if iy < 0 || iy >= H {
						clear(seg)
						continue
					}
					columns(g, seg, src[(ci*H+iy)*W:][:W], ox*g.sx+kx-g.px)
				}
			}
		}
	}
}

// columns copies every sx-th element of a row from column first; columns
// outside the row are zero.
func columns[T any](g *geometry, dst, row []T, first int) {
	lead := 0
	if first < 0 {
		lead = min(len(dst), (-first+g.sx-1)/g.sx)
		clear(dst[:lead])
	}
	start := first + lead*g.sx
	have := 0
	if start < len(row) {
		have = min(len(dst)-lead, (len(row)-start+g.sx-1)/g.sx)
	}
	if have > 0 && g.sx == 1 {
		copy(dst[lead:lead+have], row[start:])
	} else {
		for i := range have {
			dst[lead+i] = row[start+i*g.sx]
		}
	}
	clear(dst[lead+have:])
}

// depthwise convolves every channel with its own taps.
func (x *exec[T, R]) depthwise(p poster[T, R], g *geometry, k *kernel[T], v []T, out []R) error {
	channels, oh, ow := g.out[axC], g.out[axH], g.out[axW]
	H, W := g.in[axH], g.in[axW]
	// The pixels that the taps see for one result row: rows as wide as the windows reach or, if the step is above 1, a
	// row for each column of taps.
	pw, steps := ow+g.kw-1, 1
	if g.sx > 1 {
		pw, steps = ow, g.kw
	}
	at := make([]int, 0, g.red)
	if steps == 1 {
		for k := range g.span {
			at = g.taps(at, k*pw, pw)
		}
	} else {
		for l := range g.red {
			at = append(at, l*ow)
		}
	}
	return x.each(g.out[axD]*channels, grain(oh*ow*g.red), func(lo, hi int) {
		// Rows are finished together as long as they stay in the first-level cache.
		together := max(1, min(oh, rowPiece/ow))
		buf := x.borrow(together*ow + g.span*g.kh*steps*pw + vector.Reach)
		defer x.giveBack(buf)
		clear(buf.v[len(buf.v)-vector.Reach:])
		sums, seen := buf.v[:together*ow], buf.v[together*ow:]
		for i := lo; i < hi; i++ {
			c := i % channels
			taps := k.w[c*g.red:][:g.red]
			for oy := range oh {
				if x.ctx.Err() != nil {
					return
				}
				for k := range g.span * g.kh {
					ky := k % g.kh
					for s := range steps {
						row := seen[(k*steps+s)*pw:][:pw]
						if iy := oy*g.sy + ky - g.py; iy < 0 || iy >= H {
							clear(row)
						} else {
							columns(g, row, v[((i*g.span+k/g.kh)*H+iy)*W:][:W], s-g.px)
						}
					}
				}
				row := oy % together
				acc := sums[row*ow:][:ow]
				left := x.num.begin(acc, k.biasOf(c))
				x.num.add(acc, ow, taps, g.red, 1, seen, at, ow)
				if row == together-1 || oy == oh-1 {
					p.row(out[(i*oh+oy-row)*ow:][:(row+1)*ow], sums[:(row+1)*ow], left)
				}
			}
		}
	})
}
