package lint

import "github.com/zinc-compiler/zinc/ir"

// three returns the last three extents of a list, ones in front.
func three(vs []int64, def int64) (d [3]int) {
	for i := range d {
		d[i] = int(def)
	}
	for i, v := range vs {
		d[3-len(vs)+i] = int(v)
	}
	return d
}

func dims3(shape []int64) [3]int { return three(shape[2:], 1) }

// convBack: an input element gets each output's derivative times the tap between
// them.
func convBack(b *backward, op *ir.Op, dy []float64) {
	x, w, y := op.Arg(ir.ParamX), op.Arg(ir.ParamWeight), op.Results[0]
	a, err := ir.ConvAttrs(op)
	ws, xs := b.vals.floats(w), b.vals.floats(x)
	gx, gw := b.of(x), b.of(w)
	if err != nil || len(ws) == 0 || len(xs) == 0 || a.Groups < 1 {
		return
	}
	in, out, ker := dims3(x.Type.Shape), dims3(y.Type.Shape), three(a.Kernel, 1)
	st, dl, pb := three(a.Strides, 1), three(a.Dilations, 1), three(a.PadBefore, 0)
	n, cout := int(y.Type.Shape[0]), int(y.Type.Shape[1])
	cin, per := int(x.Type.Shape[1]), int(w.Type.Shape[1])
	outs := out[0] * out[1] * out[2]
	inner, taps := in[0]*in[1]*in[2], ker[0]*ker[1]*ker[2]
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
			k := [3]int{t / (ker[1] * ker[2]), t / ker[2] % ker[1], t % ker[2]}
			steps = steps[:0]
			for at, d := range dr {
				if d == 0 {
					continue
				}
				p := [3]int{at / (out[1] * out[2]), at / out[2] % out[1], at % out[2]}
				inside, src := true, 0
				for s := range 3 {
					q := p[s]*st[s] + k[s]*dl[s] - pb[s]
					inside = inside && q >= 0 && q < in[s]
					src = src*in[s] + q
				}
				if inside {
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

// poolBack takes a pooling for the mean of its window, of which only the signs
// are used.
func poolBack(b *backward, op *ir.Op, dy []float64) {
	x, y := op.Arg(ir.ParamX), op.Results[0]
	a, err := ir.PoolAttrs(op)
	g := b.of(x)
	if err != nil || g == nil {
		return
	}
	in, out, ker := dims3(x.Type.Shape), dims3(y.Type.Shape), three(a.Kernel, 1)
	st, pb := three(a.Strides, 1), three(a.PadBefore, 0)
	outs, inner, taps := out[0]*out[1]*out[2], in[0]*in[1]*in[2], ker[0]*ker[1]*ker[2]
	for i, d := range dy {
		if d == 0 {
			continue
		}
		at := i % outs
		p := [3]int{at / (out[1] * out[2]), at / out[2] % out[1], at % out[2]}
		for t := range taps {
			k := [3]int{t / (ker[1] * ker[2]), t / ker[2] % ker[1], t % ker[2]}
			inside, src := true, 0
			for s := range 3 {
				q := p[s]*st[s] + k[s] - pb[s]
				inside = inside && q >= 0 && q < in[s]
				src = src*in[s] + q
			}
			if inside {
				g[i/outs*inner+src] += d / float64(taps)
			}
		}
	}
}

func linearBack(b *backward, op *ir.Op, dy []float64) {
	x, w := op.Arg(ir.ParamX), op.Arg(ir.ParamWeight)
	xs, ws := b.vals.floats(x), b.vals.floats(w)
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
	xs, ys := b.vals.floats(x), b.vals.floats(y)
	if err != nil || len(xs) == 0 || len(ys) == 0 || m.VectorX || m.VectorY || m.M < 1 || m.N < 1 || m.K < 1 {
		return
	}
	lead := func(s []int64) []int64 { return s[:len(s)-2] }
	xi, ok1 := spread(lead(x.Type.Shape), m.Batch)
	yi, ok2 := spread(lead(y.Type.Shape), m.Batch)
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
