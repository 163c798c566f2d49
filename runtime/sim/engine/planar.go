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

// operand is a source with its element stride along each axis; zero where it is broadcast. Its numbers are in v or, if
// that is nil, still in memory, where the elements of a row are next to each other.
type operand[T any] struct {
	v      []T
	src    *tile
	relu   bool // negative numbers in memory are read as zero
	first  int  // the first element
	stride [5]int
}

// leastRow is the number of columns from which it is worthwhile to read rows where they are needed.
const leastRow = 64

// inPlace returns the strides of a tensor whose rows can be read one by one, and whether it is one.
func (t *tile) inPlace() (stride [5]int, ok bool) {
	ok = t.dim[axW] >= leastRow && !t.isUint8 && !t.swap && t.inter == 1 && t.offset == 0
	for a, bytes := range [5]int64{axG: t.group, axD: t.depth, axC: t.plane, axH: t.row, axW: 2} {
		if t.dim[a] > 1 {
			stride[a] = int(bytes / 2)
			ok = ok && bytes%2 == 0
		}
	}
	return stride, ok
}

// operand returns a source, with negative numbers as zero if relu is set.
func (x *exec[T, R]) operand(t *tile, relu bool) (operand[T], error) {
	if stride, ok := t.inPlace(); ok {
		return operand[T]{src: t, relu: relu, stride: stride}, nil
	}
	v, err := x.load(t, false)
	if relu {
		x.num.clamp(v)
	}
	return operand[T]{v: v, stride: strides(t.dim)}, err
}

// read returns n elements of an operand from one on, in buf if they are in memory.
func (x *exec[T, R]) read(o *operand[T], first, n int, buf []T) []T {
	first += o.first
	if o.v != nil {
		return o.v[first:][:n]
	}
	buf = buf[:n]
	x.num.readFP16(buf, o.src.place, 2*first, 2, false)
	if o.relu {
		x.num.clamp(buf)
	}
	return buf
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
		if unbroadcast(t, in, td.Bcast1W) != in {
			return bad("Common.Bcast1*: pooling of a source that is broadcast along an axis is not known")
		}
	}
	if err := x.work(in[axG], in[axD], in[axC], max(in[axH]*in[axW], work)); err != nil {
		return err
	}

	// Everything is bound before anything is widened, so that no size is trusted before its window has justified it.
	dim1 := unbroadcast(t, in, td.Bcast1W)
	src1, err := x.bind(&source1, dim1, t.On(td.Swap1), false)
	if err != nil {
		return err
	}
	var src2 *tile
	if kind.two {
		dim2 := unbroadcast(t, in, td.Bcast2W)
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
	// Both sources have been read, wherever they are.
	if err := x.stage(&source1, src1); err != nil {
		return err
	}
	if src2 != nil {
		if err := x.stage(&source2, src2); err != nil {
			return err
		}
	}
	return x.put(dst, vals)
}

// operands returns the sources. A parameter pair becomes two operands.
func (x *exec[T, R]) operands(src1, src2 *tile, kind planarType) ([]operand[T], error) {
	t := x.t
	first, err := x.operand(src1, t.On(td.InputReLU))
	if err != nil || src2 == nil {
		return append(x.ops[:0], first), err
	}
	second, err := x.operand(src2, t.On(td.Input2ReLU))
	if err != nil || !kind.pair {
		return append(x.ops[:0], first, second), err
	}
	third := second
	third.first += second.stride[axH]
	second.stride[axH], third.stride[axH] = 0, 0
	return append(x.ops[:0], first, second, third), nil
}

// elementwise computes a whole tensor of the given shape. The arithmetic that recorded tasks do after a reduction also
// applies here where it is not the identity (modelled: in every recorded elementwise task it is the identity).
func (x *exec[T, R]) elementwise(el rows[T], dim shape, ops []operand[T], last finish[T, R]) ([]R, error) {
	out := x.results(int(dim.count()))
	err := x.eachPiece(dim, ops, func(v []T, at [3][]T, first int) {
		el.row(v, at, len(ops))
		last.elements(out[first:][:len(v)], v)
	})
	return out, err
}

// rowPiece is the number of elements of a row that are computed at a time, which stay in the first-level cache.
const rowPiece = 1 << 12

// eachPiece calls f for pieces of rows of a tensor, from several goroutines: with memory for the piece, which may be
// the first operand's, the operands, and the index of the first element.
func (x *exec[T, R]) eachPiece(dim shape, ops []operand[T], f func(v []T, at [3][]T, first int)) error {
	w := newWalk(dim, ops)
	// A row may be one element or the whole tensor, so work is split by elements.
	piece := max(1, min(w.inner, rowPiece))
	cuts := (w.inner + piece - 1) / piece
	return x.each(w.rows*cuts, grain(piece), func(lo, hi int) {
		mem, bufs := x.buffers(piece, ops)
		defer x.giveBack(mem)
		for i := lo; i < hi; i++ {
			row, from := i/cuts, i%cuts*piece
			n := min(piece, w.inner-from)
			f(bufs[0][:n], x.at(&w, row, from, n, &bufs), row*w.inner+from)
		}
	})
}

// buffers returns memory for n elements of the first operand, and of each one that is read from memory. The caller
// gives it back.
func (x *exec[T, R]) buffers(n int, ops []operand[T]) (mem *scratch[T], bufs [3][]T) {
	mem = x.borrow(n * len(ops))
	for i := range ops {
		if i == 0 || ops[i].v == nil {
			bufs[i] = mem.v[i*n:][:n]
		}
	}
	return mem, bufs
}

// at returns the operands of elements from..from+n of a row; an operand that does not vary along the row has length
// one.
func (x *exec[T, R]) at(w *walk[T], row, from, n int, bufs *[3][]T) (v [3][]T) {
	off := w.offsets(row)
	for i := range w.ops {
		if w.step[i] == 0 { // it is not in memory
			v[i] = x.read(&w.ops[i], off[i], 1, nil)
		} else {
			v[i] = x.read(&w.ops[i], off[i]+from, n, bufs[i])
		}
	}
	return v
}
