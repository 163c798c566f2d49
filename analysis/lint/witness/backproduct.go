package witness

import "github.com/zinc-compiler/zinc/ir"

// three returns the last three extents of a list, preceded by ones if it is shorter.
func three(vs []int64, def int64) (d [3]int) {
	for i := range d {
		d[i] = int(def)
	}
	for i, v := range vs {
		d[3-len(vs)+i] = int(v)
	}
	return d
}

// window describes how a convolution or a pooling reads its input.
type window struct {
	in, out, kernel            [3]int
	strides, dilations, before [3]int
}

func newWindow(x, y *ir.Value, kernel, strides, dilations, before []int64) *window {
	return &window{
		in: three(x.Type.Shape[2:], 1), out: three(y.Type.Shape[2:], 1), kernel: three(kernel, 1),
		strides: three(strides, 1), dilations: three(dilations, 1), before: three(before, 0),
	}
}

func volume(d [3]int) int { return d[0] * d[1] * d[2] }

// source returns the input element that a tap of an output element reads; false in the padding.
func (w *window) source(at, tap int) (src int, inside bool) {
	inside = true
	p := [3]int{at / (w.out[1] * w.out[2]), at / w.out[2] % w.out[1], at % w.out[2]}
	k := [3]int{tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]}
	for s := range 3 {
		q := p[s]*w.strides[s] + k[s]*w.dilations[s] - w.before[s]
		inside = inside && q >= 0 && q < w.in[s]
		src = src*w.in[s] + q
	}
	return src, inside
}

// convBack is the derivative of a convolution: for each input element, the sum over outputs of their derivatives times
// the tap between.
func convBack(b *backward, op *ir.Op, dy []float64) {
	x, w, y := op.Arg(ir.ParamX), op.Arg(ir.ParamWeight), op.Results[0]
	a, err := ir.ConvAttrs(op)
	ws, xs := b.vals.Floats(w), b.vals.Floats(x)
	gx, gw := b.of(x), b.of(w)
	if err != nil || len(ws) == 0 || len(xs) == 0 || a.Groups < 1 {
		return
	}
	win := newWindow(x, y, a.Kernel, a.Strides, a.Dilations, a.PadBefore)
	n, cout := int(y.Type.Shape[0]), int(y.Type.Shape[1])
	cin, per := int(x.Type.Shape[1]), int(w.Type.Shape[1])
	outs, inner, taps := volume(win.out), volume(win.in), volume(win.kernel)
	perGroup := cout / int(a.Groups)
	gb := b.of(op.Arg(ir.ParamBias))
	type step struct{ out, in int }
	var steps []step // from an output to the input that the tap reads there
	for row := range n * cout {
		img, o := row/cout, row%cout
		dr := dy[row*outs : (row+1)*outs]
		some := false
		for _, d := range dr {
			some = some || d != 0
			if gb != nil {
				gb[o] += d
			}
		}
		for t := 0; t < taps && some; t++ {
			steps = steps[:0]
			for at, d := range dr {
				if d == 0 {
					continue
				}
				if src, inside := win.source(at, t); inside {
					steps = append(steps, step{at, src})
				}
			}
			for c := range per {
				xi, wi := (img*cin+o/perGroup*per+c)*inner, (o*per+c)*taps+t
				if gx != nil {
					w, g := ws[wi], gx[xi:xi+inner]
					for _, s := range steps {
						g[s.in] += dr[s.out] * w
					}
				}
				if gw != nil {
					for _, s := range steps {
						gw[wi] += dr[s.out] * xs[xi+s.in]
					}
				}
			}
		}
	}
}

// poolBack treats a pooling as the mean of its window. Only the signs are used.
func poolBack(b *backward, op *ir.Op, dy []float64) {
	x, y := op.Arg(ir.ParamX), op.Results[0]
	a, err := ir.PoolAttrs(op)
	g := b.of(x)
	if err != nil || g == nil {
		return
	}
	win := newWindow(x, y, a.Kernel, a.Strides, nil, a.PadBefore)
	outs, inner, taps := volume(win.out), volume(win.in), volume(win.kernel)
	for i, d := range dy {
		if d == 0 {
			continue
		}
		for t := range taps {
			if src, inside := win.source(i%outs, t); inside {
				g[i/outs*inner+src] += d / float64(taps)
			}
		}
	}
}

func linearBack(b *backward, op *ir.Op, dy []float64) {
	x, w := op.Arg(ir.ParamX), op.Arg(ir.ParamWeight)
	xs, ws := b.vals.Floats(x), b.vals.Floats(w)
	gx, gw, gb := b.of(x), b.of(w), b.of(op.Arg(ir.ParamBias))
	if len(ws) == 0 || len(xs) == 0 || w.Type.Rank() != 2 {
		return
	}
	outs, n := int(w.Type.Shape[0]), int(w.Type.Shape[1])
	for i, d := range dy {
		if d == 0 {
			continue
		}
		row, o := i/outs, i%outs
		if gb != nil {
			gb[o] += d
		}
		for k := range n {
			if gx != nil {
				gx[row*n+k] += d * ws[o*n+k]
			}
			if gw != nil {
				gw[o*n+k] += d * xs[row*n+k]
			}
		}
	}
}

func matmulBack(b *backward, op *ir.Op, dy []float64) {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	m, err := ir.MatMulAttrs(op)
	xs, ys := b.vals.Floats(x), b.vals.Floats(y)
	if err != nil || len(xs) == 0 || len(ys) == 0 || m.VectorX || m.VectorY || m.M < 1 || m.N < 1 || m.K < 1 {
		return
	}
	lead := func(s []int64) []int64 { return s[:len(s)-2] }
	xi, ok1 := BroadcastIndex(lead(x.Type.Shape), m.Batch)
	yi, ok2 := BroadcastIndex(lead(y.Type.Shape), m.Batch)
	if !ok1 || !ok2 {
		return
	}
	gx, gy := b.of(x), b.of(y)
	M, N, K := int(m.M), int(m.N), int(m.K)
	for i, d := range dy {
		if d == 0 {
			continue
		}
		batch, r, c := i/(M*N), i/N%M, i%N
		bx, by := xi(batch)*M*K, yi(batch)*K*N
		for k := range K {
			p, q := bx+r*K+k, by+k*N+c
			if m.TransposeX {
				p = bx + k*M + r
			}
			if m.TransposeY {
				q = by + c*K + k
			}
			if gx != nil {
				gx[p] += d * ys[q]
			}
			if gy != nil {
				gy[q] += d * xs[p]
			}
		}
	}
}
