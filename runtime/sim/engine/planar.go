package engine

import (
	"fmt"

	"github.com/zinc-compiler/zinc/lower/td"
)

// planarType says which sources a value of PlanarType uses.
type planarType struct {
	two    bool // a second source
	pair   bool // which is a pair of parameters per channel
	reduce bool
}

var planarTypes = map[uint32]planarType{
	2: {},
	3: {two: true},
	4: {two: true, pair: true},
	5: {reduce: true},
	6: {two: true, reduce: true},
}

// operand is a widened source with its element stride along each axis; zero
// where it is broadcast.
type operand[T any] struct {
	v      []T
	stride [5]int
}

// strides returns the strides of a tensor of the given shape in axis order.
func strides(dim shape) (s [5]int) {
	n := 1
	for a := axW; a >= 0; a-- {
		if dim[a] > 1 {
			s[a] = n
		}
		n *= dim[a]
	}
	return s
}

func (x *exec[T, R]) planar() error {
	t := x.t
	x.ev.Kind = "planar"
	kind := planarTypes[t.Get(td.PlanarType)]
	if kind.two != t.On(td.PETwo) {
		return badField(t, td.PETwo, fmt.Sprintf("PlanarType %d decides whether there is a second source",
			t.Get(td.PlanarType)))
	}
	in, out := inShape(t), outShape(t)
	if in[axC] != out[axC] {
		return bad("Common.Cin = %d, Common.Cout = %d: planar work keeps the channels", in[axC], out[axC])
	}
	win := window{
		kw: ext(t, td.Kw), kh: ext(t, td.Kh), sx: ext(t, td.Sx), sy: ext(t, td.Sy),
		px: t.Int(td.Px), py: t.Int(td.Py), mode: td.Pool(t.Get(td.PoolMode)),
	}
	work := 1
	switch {
	case !kind.reduce:
		if !win.all() {
			return bad("kernel %dx%d with stride %dx%d: only a reduction (PlanarType 5 and 6) has a window", win.kw,
				win.kh, win.sx, win.sy)
		}
		if in != out {
			return bad("extents in %v, out %v: elementwise work keeps them", in, out)
		}
	case win.all():
		out = shape{in[axG], 1, in[axC], 1, 1}
	default:
		if in[axD] != out[axD] {
			return bad("Common.Din = %d, Common.Dout = %d: pooling keeps the depth", in[axD], out[axD])
		}
		work = win.kw * win.kh * out[axH] * out[axW]
		if spread(t, in, td.Bcast1W) != in {
			return bad("Common.Bcast1*: pooling of a source that is spread along an axis is not known")
		}
	}
	if err := x.work(in[axG], in[axD], in[axC], max(in[axH]*in[axW], work)); err != nil {
		return err
	}

	// Everything is bound before anything is widened, so that no size is trusted before its window has justified it.
	dim1 := spread(t, in, td.Bcast1W)
	src1, err := x.bind(&source1, dim1, t.On(td.Swap1), false)
	if err != nil {
		return err
	}
	var src2 *tile
	if kind.two {
		dim2 := spread(t, in, td.Bcast2W)
		if kind.pair {
			dim2[axH], dim2[axW] = 2, 1
		}
		if src2, err = x.bind(&source2, dim2, t.On(td.Swap2), false); err != nil {
			return err
		}
	}
	dst, err := x.bind(&result, out, t.On(td.SwapResult), true)
	if err != nil {
		return err
	}
	// A broadcast source justifies only its own bytes: an elementwise result is justified by its window, and a
	// reduction works through in without storing it.
	ops, err := x.operands(src1, src2, kind)
	if err != nil {
		return err
	}
	if err := x.stage(&source1, src1); err != nil {
		return err
	}
	if src2 != nil {
		if err := x.stage(&source2, src2); err != nil {
			return err
		}
	}
	el, fin := x.num.elementwise(t), x.num.final(t)
	var vals []R
	switch {
	case !kind.reduce:
		vals, err = x.elementwise(el, in, ops, fin)
	case win.all():
		vals, err = x.reduceAll(el, in, ops, fin, win.mode)
	default:
		vals, err = x.pool(el, in, out, ops, fin, win)
	}
	if err != nil {
		return err
	}
	return x.put(dst, vals)
}

// operands widens the sources. A parameter pair becomes two operands.
func (x *exec[T, R]) operands(src1, src2 *tile, kind planarType) ([]operand[T], error) {
	t := x.t
	v, err := x.load(src1, false)
	if err != nil {
		return nil, err
	}
	if t.On(td.InputReLU) {
		x.num.clamp(v)
	}
	ops := []operand[T]{{v, strides(src1.dim)}}
	if src2 == nil {
		return ops, nil
	}
	if v, err = x.load(src2, false); err != nil {
		return nil, err
	}
	if t.On(td.Input2ReLU) {
		x.num.clamp(v)
	}
	s := strides(src2.dim)
	if !kind.pair {
		return append(ops, operand[T]{v, s}), nil
	}
	row := s[axH]
	s[axH] = 0
	return append(ops, operand[T]{v, s}, operand[T]{v[row:], s}), nil
}

// elementwise computes a whole tensor of the given shape. The arithmetic that recorded tasks do after a reduction also
// applies here where it is not the identity (modelled: in every recorded elementwise task it is the identity).
func (x *exec[T, R]) elementwise(el rows[T], dim shape, ops []operand[T], last finish[T, R]) ([]R, error) {
	out := x.results(int(dim.count()))
	w := newWalk(dim, ops)
	// A row may be one element or the whole tensor, so work is split by elements.
	piece := max(1, min(w.inner, 1<<12))
	cuts := (w.inner + piece - 1) / piece
	err := x.each(w.rows*cuts, grain(piece), func(lo, hi int) {
		buf := make([]T, piece)
		for i := lo; i < hi; i++ {
			row, from := i/cuts, i%cuts*piece
			n := min(piece, w.inner-from)
			v := buf[:n]
			el.row(v, w.at(row, from, n), len(ops))
			last.elements(out[row*w.inner+from:][:n], v)
		}
	})
	return out, err
}
