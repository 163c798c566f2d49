package engine

import "github.com/zinc-compiler/zinc/lower/td"

// Neural operations, the values of NEOp.
const (
	opKernel  = 0
	opSum     = 8
	opMaximum = 11
	opPass    = 12
)

var opNames = map[uint32]string{opKernel: "kernel", opSum: "sum", opMaximum: "maximum", opPass: "pass"}

func (x *exec[T, R]) neural() error {
	t := x.t
	op := t.Get(td.NEOp)
	x.ev.Kind = opNames[op]
	in, out := inShape(t), outShape(t)
	if in[axD] != out[axD] {
		return bad("Common.Din = %d, Common.Dout = %d: the neural engine keeps the depth", in[axD], out[axD])
	}
	dim1 := unbroadcast(t, in, td.Bcast1W)
	if dim1 != in {
		return bad("Common.Bcast1*: source extents %v of %v: the neural engine broadcasts no source", dim1, in)
	}
	geo := &x.geometry
	if err := geo.read(t, in, out); err != nil {
		return err
	}
	out = geo.out
	if err := x.work(out[axG], out[axD], out[axC], out[axH], out[axW], geo.red); err != nil {
		return err
	}
	src, err := x.bind(&source1, in, t.On(td.Swap1), false)
	if err != nil {
		return err
	}
	dst, err := x.bind(&result, out, t.On(td.SwapNE), true)
	if err != nil {
		return err
	}
	ker, err := x.kernel(geo)
	if err != nil {
		return err
	}
	p := x.num.post(t, ker.lut, op == opKernel && geo.red > 1)
	vals := x.results(int(out.count()))
	if op == opPass {
		err = x.pass(p, in, src, vals)
	} else {
		err = x.reduced(p, geo, ker, src, vals)
	}
	if err != nil {
		return err
	}
	// The source has been read, wherever it is.
	if err := x.stage(&source1, src); err != nil {
		return err
	}
	return x.put(dst, vals)
}

// pass finishes the numbers of the source.
func (x *exec[T, R]) pass(p poster[T, R], in shape, src *tile, out []R) error {
	o, err := x.operand(src, x.t.On(td.InputReLU))
	if err != nil {
		return err
	}
	var none T
	return x.eachPiece(in, append(x.ops[:0], o), func(v []T, at [3][]T, first int) {
		p.row(out[first:][:len(v)], at[0], none)
	})
}

// reduced computes sums of products, or reductions over channels.
func (x *exec[T, R]) reduced(p poster[T, R], g *geometry, k *kernel[T], src *tile, out []R) error {
	v, err := x.load(src, g.op == opKernel)
	if err != nil {
		return err
	}
	if x.t.On(td.InputReLU) {
		x.num.clamp(v)
	}
	switch {
	case g.op != opKernel:
		return x.channels(p, g, v, out)
	case g.kernels > 1:
		return x.columnByColumn(p, g, k, v, out)
	}
	return x.multiplied(p, g, k, v, out)
}

func (x *exec[T, R]) multiplied(p poster[T, R], g *geometry, k *kernel[T], v []T, out []R) error {
	if g.unicast {
		return x.depthwise(p, g, k, v, out)
	}
	return x.convolve(p, g, k, v, out)
}

// columnByColumn computes the columns that have a kernel of their own, one after the other.
func (x *exec[T, R]) columnByColumn(p poster[T, R], g *geometry, k *kernel[T], v []T, out []R) error {
	n := g.kernels
	one := *g
	one.kernels, one.out[axW] = 1, g.out[axW]/n
	outputs := g.out[axG] * g.out[axC]
	own := kernel[T]{lut: k.lut, w: make([]T, outputs*g.red)}
	if k.bias != nil {
		own.bias = make([]T, outputs)
	}
	sums := make([]R, len(out)/n)
	for column := range n {
		for o := range outputs {
			copy(own.w[o*g.red:][:g.red], k.w[(o*n+column)*g.red:])
			if k.bias != nil {
				own.bias[o] = k.bias[o*n+column]
			}
		}
		if err := x.multiplied(p, &one, &own, v, sums); err != nil {
			return err
		}
		for i, s := range sums {
			out[i*n+column] = s
		}
	}
	return nil
}

// geometry is the shape of a neural-engine task.
type geometry struct {
	in, out                shape
	kw, kh, sx, sy, px, py int
	unicast                bool
	paired                 bool // two columns at a time
	kernels                int  // of an output, one for each of the columns that are computed at a time
	op                     uint32
	span                   int // input channels of one result channel in a channel sum or maximum
	red                    int // input elements that contribute to one result element
}

// read sets the geometry from a task.
func (g *geometry) read(t *td.Task, in, out shape) error {
	*g = geometry{
		in: in, out: out, kw: ext(t, td.Kw), kh: ext(t, td.Kh), sx: ext(t, td.Sx), sy: ext(t, td.Sy),
		px: t.Int(td.Px), py: t.Int(td.Py), unicast: t.On(td.UnicastEn), op: t.Get(td.NEOp), red: 1, kernels: 1,
	}
	if g.op == opKernel {
		g.red = g.kw * g.kh
		if t.Get(td.Ox) == 2 && t.On(td.SparseFmt) && g.sx == 2 {
			// Wout counts pairs of columns.
			g.kernels = 2
			g.out[axW] *= 2
		}
		if !g.unicast {
			g.red *= in[axC]
			return nil
		}
		g.span = max(1, t.Int(td.UnicastCin))
		g.red *= g.span
		switch {
		case g.span > 1 && (g.kw|g.kh|g.sx|g.sy != 1 || g.px|g.py != 0 || t.On(td.SparseFmt) || t.On(td.PalettizedEn)):
			return badField(t, td.UnicastCin, "a channelwise kernel with a window takes one channel")
		case in[axC] != out[axC]*g.span:
			return bad("Common.Cin = %d, Common.Cout = %d: channelwise work takes %d channels for one", in[axC],
				out[axC], g.span)
		case in[axG] != 1:
			return badField(t, td.NumGroups, "a channelwise kernel (UnicastEn) has one group")
		case t.Get(td.Oy) > 1 || t.Get(td.Ox) > 2:
			return bad("Common.Ox = %d, Common.Oy = %d: the coefficient order of so many pixels at a time is "+
				"not known", t.Get(td.Ox), t.Get(td.Oy))
		case t.Get(td.Ox) == 2 && g.kernels == 1:
			if g.sx != 2 || g.kh != 1 || g.kw%2 == 0 || t.On(td.SparseFmt) {
				return bad("Common.Ox = 2 with Sx = %d, kernel %dx%d: pairs of columns are known at a step of "+
					"2 with one row of an odd number of taps, all stored", g.sx, g.kw, g.kh)
			}
			// Wout counts pairs.
			g.paired, g.sx = true, 1
			g.out[axW] *= 2
		}
		return nil
	}
	if in[axH] != out[axH] || in[axW] != out[axW] || g.kw != 1 || g.kh != 1 || g.sx != 1 || g.sy != 1 || g.px != 0 ||
		g.py != 0 {
		return bad("NE.Op = %d with extents in %v, out %v, kernel %dx%d, stride %dx%d, padding %d,%d: only "+
			"NE.Op 0 has a window",
			g.op, in, out, g.kw, g.kh, g.sx, g.sy, g.px, g.py)
	}
	g.span = 1
	if g.op != opPass {
		g.span = in[axC]
		if g.unicast {
			g.span = max(1, t.Int(td.UnicastCin))
		}
	}
	if out[axC]*g.span != in[axC] {
		return bad("NE.Op = %d with Common.Cin = %d, Common.Cout = %d: %d input channels make one result channel",
			g.op, in[axC], out[axC], g.span)
	}
	g.red = g.span
	return nil
}

// channels computes the sum or the maximum over spans of channels.
func (x *exec[T, R]) channels(p poster[T, R], g *geometry, v []T, out []R) error {
	plane := g.in[axH] * g.in[axW]
	n := g.out[axG] * g.out[axD] * g.out[axC]
	const piece = channelPiece
	var none T
	cuts := (plane + piece - 1) / piece
	return x.each(n*cuts, grain(g.span*min(plane, piece)), func(lo, hi int) {
		row := make([]T, min(plane, piece))
		for i := lo; i < hi; i++ {
			if x.ctx.Err() != nil {
				return
			}
			c, from := i/cuts, i%cuts*piece
			m := min(piece, plane-from)
			x.num.channels(row[:m], v[c*g.span*plane+from:], plane, g.span, g.op == opMaximum)
			p.row(out[c*plane+from:][:m], row[:m], none)
		}
	})
}
