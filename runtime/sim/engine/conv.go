package engine

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Sizes of a block of a product: rows of outputs and columns of pixels. A
// block is small enough for gonum to compute it on the calling goroutine, and
// the sum over red runs in order in any block, so blocking changes no bit.
const (
	blockRows   = 64
	blockPixels = 192
	blockFloats = 1 << 23 // limit of a gathered block of pixels
)

// convolve computes a dense or grouped convolution.
func (x *exec) convolve(p *post, g *geometry, k *kernel, v []float32, out []uint16) error {
	direct := g.kw == 1 && g.kh == 1 && g.sx == 1 && g.sy == 1 && g.px == 0 && g.py == 0 && g.in[axH] == g.out[axH] &&
		g.in[axW] == g.out[axW]
	special := !finite(v) || !finite(k.w)
	if !direct && !special && g.small() && x.opts.Numerics != ANELanes {
		return x.shifted(p, g, k, v, out)
	}
	return x.gathered(p, g, k, v, out, direct, special)
}

// gathered computes a convolution as products of matrices: coefficients, and the
// pixels that each result sees, which direct says are the image as it is. Special
// says that infinities or NaN take part.
func (x *exec) gathered(p *post, g *geometry, k *kernel, v []float32, out []uint16, direct, special bool) error {
	cin, cout, red := g.in[axC], g.out[axC], g.red
	pixels := g.out[axH] * g.out[axW]
	cols := max(1, min(blockPixels, pixels, blockFloats/red))
	cuts := (pixels + cols - 1) / cols
	// A block of pixels is gathered once for all outputs, unless there are so
	// few that the outputs must be shared out too.
	rows := cout
	if cuts*g.out[axG]*g.out[axD] < 8 {
		rows = min(cout, max(blockRows, (cout/8+blockRows-1)/blockRows*blockRows))
	}
	parts := (cout + rows - 1) / rows
	inPlane := g.in[axH] * g.in[axW]
	jobs := g.out[axG] * g.out[axD] * parts * cuts
	return x.each(jobs, 1, func(lo, hi int) {
		var block []float32
		acc := make([]float32, min(blockRows, rows)*cols)
		for i := lo; i < hi; i++ {
			gd, part, cut := i/(parts*cuts), i/cuts%parts, i%cuts
			grp := gd / g.out[axD]
			from := cut * cols
			n := min(cols, pixels-from)
			b, ldb := v[gd*cin*inPlane:][:cin*inPlane], inPlane
			if direct {
				b = b[from:]
			} else {
				if block == nil {
					block = make([]float32, red*cols)
				}
				g.gather(block, b, from, n)
				b, ldb = block, n
			}
			for r := part * rows; r < min(cout, (part+1)*rows); r += blockRows {
				if x.ctx.Err() != nil {
					return
				}
				m := min(blockRows, min(cout, (part+1)*rows)-r)
				w := k.w[(grp*cout+r)*red:][:m*red]
				c := acc[:m*n]
				switch {
				case x.opts.Numerics == ANELanes:
					x.lanes(c, w, b, m, n, red, ldb, special)
				case special:
					x.careful(c, w, b, m, n, red, ldb)
				case n <= 4:
					dots(c, w, b, m, n, red, ldb)
				default:
					blas32.Implementation().Sgemm(blas.NoTrans, blas.NoTrans, m, n, red, 1, w, red, b, ldb, 0, c, n)
				}
				for j := range m {
					bias := float32(0)
					if k.bias != nil {
						bias = k.bias[grp*cout+r+j]
					}
					p.row(out[(gd*cout+r+j)*pixels+from:][:n], c[j*n:][:n], bias)
				}
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

// padded returns the extent of an image with the rows and columns that windows of
// step 1 reach.
func (g *geometry) padded() (height, width int) {
	return g.out[axH] + g.kh - 1, g.out[axW] + g.kw - 1
}

// shifted computes a convolution of step 1 on a small image without gathering its
// pixels: what a tap sees of the padded image is the image itself, shifted. Products
// are added in the order of gathered.
func (x *exec) shifted(p *post, g *geometry, k *kernel, v []float32, out []uint16) error {
	cin, cout, oh, ow := g.in[axC], g.out[axC], g.out[axH], g.out[axW]
	ph, pw := g.padded()
	H, W := g.in[axH], g.in[axW]
	// Results stand as wide as the padded image: the columns behind the image's own
	// mean nothing. Behind both is room for a sum of four that begins at the end.
	image := x.floats(cin*ph*pw + 4)
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
		if err := x.each(cout, grain(g.red*oh*pw), func(lo, hi int) {
			acc := make([]float32, oh*pw+4)
			for o := lo; o < hi; o++ {
				if x.ctx.Err() != nil {
					return
				}
				at := gd/g.out[axD]*cout + o
				g.sums(acc, image, k.w[at*g.red:][:g.red])
				bias := float32(0)
				if k.bias != nil {
					bias = k.bias[at]
				}
				for y := range oh {
					p.row(out[((gd*cout+o)*oh+y)*ow:][:ow], acc[y*pw:][:ow], bias)
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// sums computes one output of all pixels.
func (g *geometry) sums(acc, image, w []float32) {
	ph, pw := g.padded()
	if n := g.out[axH] * pw; n > fewPixels {
		g.rows(acc[:n-(g.kw-1)], image, w, ph*pw, pw)
		return
	}
	for y := range g.out[axH] {
		for c := 0; c < g.out[axW]; c += 4 {
			g.four((*[4]float32)(acc[y*pw+c:]), image[y*pw+c:], w, ph*pw, pw)
		}
	}
}

// fewPixels is up to where sums in registers are faster than sums of whole images
// with vector instructions.
const fewPixels = 36

// rows sums the products of all pixels of an image, tap by tap.
func (g *geometry) rows(acc, image, w []float32, plane, row int) {
	saxpy := blas32.Implementation().Saxpy
	clear(acc)
	i := 0
	for ci := range g.in[axC] {
		for ky := range g.kh {
			for kx := range g.kw {
				if f := w[i]; f != 0 {
					saxpy(len(acc), f, image[ci*plane+ky*row+kx:], 1, acc, 1)
				}
				i++
			}
		}
	}
}

// four sums the products of four pixels that are beside each other; image begins
// at what the first tap of the first of them sees.
func (g *geometry) four(acc *[4]float32, image, w []float32, plane, row int) {
	var a0, a1, a2, a3 float32
	for ci := range g.in[axC] {
		for ky := range g.kh {
			if g.kw == 3 { // the usual window, without a loop
				t, p := (*[3]float32)(w), (*[6]float32)(image[ci*plane+ky*row:])
				w = w[3:]
				a0 = float32(t[2]*p[2]) + (float32(t[1]*p[1]) + (float32(t[0]*p[0]) + a0))
				a1 = float32(t[2]*p[3]) + (float32(t[1]*p[2]) + (float32(t[0]*p[1]) + a1))
				a2 = float32(t[2]*p[4]) + (float32(t[1]*p[3]) + (float32(t[0]*p[2]) + a2))
				a3 = float32(t[2]*p[5]) + (float32(t[1]*p[4]) + (float32(t[0]*p[3]) + a3))
				continue
			}
			taps := w[:g.kw]
			w = w[g.kw:]
			see := image[ci*plane+ky*row:]
			for kx, f := range taps {
				p := (*[4]float32)(see[kx:])
				a0 += float32(f * p[0])
				a1 += float32(f * p[1])
				a2 += float32(f * p[2])
				a3 += float32(f * p[3])
			}
		}
	}
	*acc = [4]float32{a0, a1, a2, a3}
}

// gather lays the inputs of n result pixels out as [red][n].
func (g *geometry) gather(dst, src []float32, from, n int) {
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
					g.columns(seg, src[(ci*H+iy)*W:][:W], ox*g.sx+kx-g.px)
				}
			}
		}
	}
}

// columns copies every sx-th element of a row from column first; columns
// outside the row are zero.
func (g *geometry) columns(dst, row []float32, first int) {
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

// dots computes c = w*b for a few columns.
func dots(c, w, b []float32, m, n, red, ldb int) {
	col := make([]float32, red)
	for j := range n {
		for k := range col {
			col[k] = b[k*ldb+j]
		}
		for i := range m {
			c[i*n+j] = dot(w[i*red:][:red], col)
		}
	}
}

// dot adds in four strands, joined in pairs at the end.
func dot(a, b []float32) float32 {
	var s [4]float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s[0] += float32(a[i] * b[i])
		s[1] += float32(a[i+1] * b[i+1])
		s[2] += float32(a[i+2] * b[i+2])
		s[3] += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s[0] += float32(a[i] * b[i])
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// careful computes c = w*b where infinities or NaN take part: a product or a
// sum without a value counts as the numerics mode says.
func (x *exec) careful(c, w, b []float32, m, n, red, ldb int) {
	num := x.opts.Numerics
	for i := range m {
		if x.ctx.Err() != nil {
			return
		}
		for j := range n {
			s := float32(0)
			for k := range red {
				s = num.fix(s + num.fix(float32(w[i*red+k]*b[k*ldb+j])))
			}
			c[i*n+j] = s
		}
	}
}

// finite reports whether no value is infinite or NaN.
func finite(v []float32) bool {
	for _, f := range v {
		if math.Float32bits(f)&0x7f800000 == 0x7f800000 {
			return false
		}
	}
	return true
}

// depthwise convolves every channel with its own taps.
func (x *exec) depthwise(p *post, g *geometry, k *kernel, v []float32, out []uint16) error {
	cin, oh, ow := g.in[axC], g.out[axH], g.out[axW]
	H, W := g.in[axH], g.in[axW]
	num := x.opts.Numerics
	special := !finite(v) || !finite(k.w)
	return x.each(g.out[axD]*cin, grain(oh*ow*g.red), func(lo, hi int) {
		acc, cols := make([]float32, ow), make([]float32, ow)
		var seen []float32 // what each tap sees of a row, for the lanes
		if num == ANELanes {
			seen = make([]float32, g.red*ow)
		}
		for i := lo; i < hi; i++ {
			c := i % cin
			taps := k.w[c*g.red:][:g.red]
			bias := float32(0)
			if k.bias != nil {
				bias = k.bias[c]
			}
			for oy := range oh {
				if x.ctx.Err() != nil {
					return
				}
				clear(acc)
				clear(seen)
				for ky := range g.kh {
					iy := oy*g.sy + ky - g.py
					if iy < 0 || iy >= H {
						continue
					}
					row := v[(i*H+iy)*W:][:W]
					for kx := range g.kw {
						if num == ANELanes {
							g.columns(seen[(ky*g.kw+kx)*ow:][:ow], row, kx-g.px)
							continue
						}
						g.columns(cols, row, kx-g.px)
						w := taps[ky*g.kw+kx]
						if special {
							for j, f := range cols {
								acc[j] = num.fix(acc[j] + num.fix(float32(w*f)))
							}
							continue
						}
						for j, f := range cols {
							acc[j] += float32(w * f)
						}
					}
				}
				if num == ANELanes {
					x.lanes(acc, taps, seen, 1, ow, g.red, ow, special)
				}
				p.row(out[(i*oh+oy)*ow:][:ow], acc, bias)
			}
		}
	})
}
