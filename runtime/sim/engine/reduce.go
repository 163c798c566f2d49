package engine

import "github.com/zinc-compiler/zinc/lower/td"

// window is the extent and step of a reduction.
type window struct {
	kw, kh, sx, sy, px, py int
	mode                   td.Pool
}

// all reports whether the window covers a whole channel.
func (w window) all() bool { return w.kw == 1 && w.kh == 1 && w.sx == 1 && w.sy == 1 }

// reduceAll reduces every channel of every group to one value.
func (x *exec[T, R]) reduceAll(el rows[T], dim shape, ops []operand[T], fin finish[T, R], mode td.Pool) ([]R, error) {
	G, D, C, H, W := dim[axG], dim[axD], dim[axC], dim[axH], dim[axW]
	out := x.results(G * C)
	err := x.each(G*C, grain(D*H*W), func(lo, hi int) {
		// The depth, rows and columns of one channel form a tensor of their own; all channels are walked alike.
		var mine [3]operand[T]
		own := mine[:copy(mine[:], ops)]
		w := newWalk(shape{1, D, 1, H, W}, own)
		piece := min(w.inner, rowPiece)
		mem, bufs := x.buffers(piece, ops)
		defer x.giveBack(mem)
		acc := x.num.fold(mode, fin)
		for i := lo; i < hi; i++ {
			channel(own, ops, i/C, i%C)
			acc.reset()
			for row := range w.rows {
				for from := 0; from < w.inner; from += piece {
					if x.ctx.Err() != nil {
						return
					}
					n := min(piece, w.inner-from)
					v := bufs[0][:n]
					el.row(v, x.at(&w, row, from, n, &bufs), len(ops))
					acc.add(v)
				}
			}
			out[i] = acc.value()
		}
	})
	return out, err
}

// channel returns the operands of one channel of one group.
func channel[T any](dst, ops []operand[T], g, c int) {
	for i, o := range ops {
		dst[i] = o
		dst[i].first += g*o.stride[axG] + c*o.stride[axC]
	}
}

// pool reduces windows of each plane.
func (x *exec[T, R]) pool(el rows[T], in, dim shape, ops []operand[T], fin finish[T, R], win window) ([]R, error) {
	D, C, H, W := in[axD], in[axC], in[axH], in[axW]
	oh, ow := dim[axH], dim[axW]
	out := x.results(int(dim.count()))
	err := x.each(in[axG]*D*C, 1, func(lo, hi int) {
		var mine [3]operand[T]
		plane, acc := mine[:copy(mine[:], ops)], x.num.fold(win.mode, fin)
		values := x.borrow(H * W)
		defer x.giveBack(values)
		for i := lo; i < hi; i++ {
			g, d, c := i/(D*C), i/C%D, i%C
			channel(plane, ops, g, c)
			for k := range plane {
				plane[k].first += d * plane[k].stride[axD]
			}
			v := values.v
			x.plane(v, el, H, W, plane)
			for oy := range oh {
				if x.ctx.Err() != nil {
					return
				}
				top, bottom := max(0, oy*win.sy-win.py), min(H, oy*win.sy-win.py+win.kh)
				for ox := range ow {
					left, right := max(0, ox*win.sx-win.px), min(W, ox*win.sx-win.px+win.kw)
					acc.reset()
					for y := top; y < bottom && left < right; y++ {
						acc.add(v[y*W+left : y*W+right])
					}
					out[(i*oh+oy)*ow+ox] = acc.value()
				}
			}
		}
	})
	return out, err
}

// plane computes the elementwise values of one plane.
func (x *exec[T, R]) plane(v []T, el rows[T], h, w int, ops []operand[T]) {
	k := newWalk(shape{1, 1, 1, h, w}, ops)
	mem, bufs := x.buffers(k.inner, ops)
	defer x.giveBack(mem)
	for row := range k.rows {
		el.row(v[row*k.inner:][:k.inner], x.at(&k, row, 0, k.inner, &bufs), len(ops))
	}
}
