package engine

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/lower/td"
)

// window is the extent and step of a reduction.
type window struct {
	kw, kh, sx, sy, px, py int
	mode                   uint32 // PoolMode: 0 sum, 1 average, 2 maximum, 3 minimum
}

// all reports whether the window represents a whole channel.
func (w window) all() bool { return w.kw == 1 && w.kh == 1 && w.sx == 1 && w.sy == 1 }

// final is the arithmetic after a reduction, or after elementwise work.
type final struct {
	factor, epsilon float64
	nonlinear       uint32
	num             Numerics
}

func newFinal(t *td.Task, num Numerics) *final {
	return &final{
		factor:  float64(math.Float32frombits(t.Get(td.PEFinal))) * float64(widen(uint16(t.Get(td.PEPreScale)))),
		epsilon: float64(widen(uint16(t.Get(td.PEEpsilon)))), nonlinear: t.Get(td.PENonlinear), num: num,
	}
}

func (f *final) identity() bool { return f.factor == 1 && f.epsilon == 0 && f.nonlinear == 0 }

// readInf is a value as the arithmetic after elementwise work reads it: infinities
// are 2^16 there (inferred from log(+0), which is measured as -45440: ln 2 in fp16
// times -2^16). Whether it is so after a reduction too is not known.
func (f *final) readInf(v float64) float64 {
	if f.num != IEEE && math.IsInf(v, 0) {
		return math.Copysign(1<<16, v)
	}
	return v
}

func (f *final) value(v float64) uint16 {
	v = float64(v*f.factor) + f.epsilon
	if f.num != IEEE && math.IsNaN(v) {
		v = 0
	}
	if f.num != IEEE && v == 0 {
		v = 0 // drops the sign
	}
	switch f.nonlinear {
	case 1:
		v = 1 / v
	case 2:
		v = 1 / math.Sqrt(v)
	}
	return f.num.out(float32(v))
}

// fold accumulates values in float64, in which sums of fp16 products are exact
// far beyond any extent a task can have.
type fold struct {
	mode uint32
	acc  float64
	n    int
}

func newFold(mode uint32) fold {
	switch mode {
	case 2:
		return fold{mode: mode, acc: math.Inf(-1)}
	case 3:
		return fold{mode: mode, acc: math.Inf(1)}
	}
	return fold{mode: mode}
}

func (f *fold) add(v []float32) {
	acc := f.acc
	switch f.mode {
	case 2:
		for _, x := range v {
			acc = max(acc, float64(x))
		}
	case 3:
		for _, x := range v {
			acc = min(acc, float64(x))
		}
	default:
		for _, x := range v {
			acc += float64(x)
		}
	}
	f.acc = acc
	f.n += len(v)
}

func (f *fold) value() float64 {
	if f.mode == 1 && f.n > 0 {
		return f.acc / float64(f.n)
	}
	return f.acc
}

// reduceAll reduces every channel of every group to one value.
func (x *exec) reduceAll(el *elementwise, dim shape, ops []operand, fin *final, mode uint32) ([]uint16, error) {
	G, D, C, H, W := dim[axG], dim[axD], dim[axC], dim[axH], dim[axW]
	out := x.patterns(G * C)
	err := x.each(G*C, grain(D*H*W), func(lo, hi int) {
		// One channel's depth, rows and columns are a tensor of their own; all
		// channels are walked alike.
		own := slices.Clone(ops)
		w := newWalk(shape{1, D, 1, H, W}, own)
		piece := min(w.inner, 1<<12)
		buf := make([]float32, piece)
		for i := lo; i < hi; i++ {
			channel(own, ops, i/C, i%C)
			acc := newFold(mode)
			for row := range w.rows {
				for from := 0; from < w.inner; from += piece {
					if x.ctx.Err() != nil {
						return
					}
					n := min(piece, w.inner-from)
					v := buf[:n]
					el.row(v, w.at(row, from, n), len(ops))
					acc.add(v)
				}
			}
			out[i] = fin.value(acc.value())
		}
	})
	return out, err
}

// channel returns the operands of one channel of one group.
func channel(dst, ops []operand, g, c int) {
	for i, o := range ops {
		dst[i] = operand{o.v[g*o.stride[axG]+c*o.stride[axC]:], o.stride}
	}
}

// pool reduces windows of each plane.
func (x *exec) pool(el *elementwise, in, dim shape, ops []operand, fin *final, win window) ([]uint16, error) {
	D, C, H, W := in[axD], in[axC], in[axH], in[axW]
	oh, ow := dim[axH], dim[axW]
	out := x.patterns(int(dim.count()))
	err := x.each(in[axG]*D*C, 1, func(lo, hi int) {
		plane := slices.Clone(ops)
		for i := lo; i < hi; i++ {
			g, d, c := i/(D*C), i/C%D, i%C
			channel(plane, ops, g, c)
			for k := range plane {
				plane[k].v = plane[k].v[d*plane[k].stride[axD]:]
			}
			v := x.plane(el, H, W, plane)
			for oy := range oh {
				if x.ctx.Err() != nil {
					return
				}
				top, bottom := max(0, oy*win.sy-win.py), min(H, oy*win.sy-win.py+win.kh)
				for ox := range ow {
					left, right := max(0, ox*win.sx-win.px), min(W, ox*win.sx-win.px+win.kw)
					acc := newFold(win.mode)
					for y := top; y < bottom && left < right; y++ {
						acc.add(v[y*W+left : y*W+right])
					}
					out[(i*oh+oy)*ow+ox] = fin.value(acc.value())
				}
			}
		}
	})
	return out, err
}

// plane computes the elementwise values of one plane.
func (x *exec) plane(el *elementwise, h, w int, ops []operand) []float32 {
	v := make([]float32, h*w)
	k := newWalk(shape{1, 1, 1, h, w}, ops)
	for row := range k.rows {
		el.row(v[row*k.inner:][:k.inner], k.at(row, 0, k.inner), len(ops))
	}
	return v
}
