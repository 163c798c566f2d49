package explain

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// dynamicMatMul decodes a matrix product of two runtime values of rank 4, [B, H, M, K] by [B, H, K, N], in fp16.
func dynamicMatMul(op *ir.Op) (ir.MatMul, bool) {
	if op == nil || !op.Is(ir.OpMatMul) {
		return ir.MatMul{}, false
	}
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	a, err := ir.MatMulAttrs(op)
	return a, err == nil && x.Const == nil && y.Const == nil && x.Type.Rank() == 4 && y.Type.Rank() == 4 &&
		x.Type.Static() && y.Type.Static() && x.Type.DType == ir.FP16 && y.Type.DType == ir.FP16
}

// repeatedOf returns the value [B, G, T, D] if v [B, G R, T, D] has each of its matrices R times in a row, and R; nil
// if v is not written so.
func repeatedOf(v *ir.Value) (*ir.Value, int64) {
	last := v.Def
	if last == nil || !last.Is(ir.OpReshape) {
		return nil, 0
	}
	tile := last.Arg(ir.ParamX).Def
	if tile == nil || !tile.Is(ir.OpTile) || tile.Results[0].Type.Rank() != 5 {
		return nil, 0
	}
	reps, ok := ir.TileReps(tile)
	five := tile.Arg(ir.ParamX)
	if !ok || len(reps) != 5 || five.Def == nil || !five.Def.Is(ir.OpReshape, ir.OpExpandDims) {
		return nil, 0
	}
	base := five.Def.Arg(ir.ParamX)
	s := base.Type.Shape
	if base.Type.Rank() != 4 || !base.Type.Static() || reps[2] < 2 ||
		slices.ContainsFunc([]int{0, 1, 3, 4}, func(i int) bool { return reps[i] != 1 }) ||
		!slices.Equal(five.Type.Shape, []int64{s[0], s[1], 1, s[2], s[3]}) ||
		!slices.Equal(v.Type.Shape, []int64{s[0], s[1] * reps[2], s[2], s[3]}) {
		return nil, 0
	}
	return base, reps[2]
}

// groupQueries multiplies the queries that share a key or value as rows of one matrix, instead of repeating the key or
// value.
func groupQueries(e *edit) {
	if e.op.Is(ir.OpScaledDotProductAttention) {
		e.groupAttention()
		return
	}
	a, ok := dynamicMatMul(e.op)
	if !ok || a.TransposeX {
		e.not()
	}
	x := e.op.Arg(ir.ParamX)
	base, r := repeatedOf(e.op.Arg(ir.ParamY))
	if base == nil || x.Type.Shape[1] != base.Type.Shape[1]*r {
		e.not()
	}
	s := x.Type.Shape
	y := e.again(arg(ir.ParamX, e.Reshape(x, s[0], s[1]/r, r*s[2], s[3])), arg(ir.ParamY, base))
	e.become(e.Reshape(y, e.op.Results[0].Type.Shape...))
}

// groupAttention is groupQueries of the operation for attention.
func (e *edit) groupAttention() {
	q, mask := e.op.Arg(ir.ParamQuery), e.op.Arg(ir.ParamAttnMask)
	k, r := repeatedOf(e.op.Arg(ir.ParamKey))
	v, rv := repeatedOf(e.op.Arg(ir.ParamValue))
	if k == nil || v == nil || r != rv || q.Type.Rank() != 4 || !q.Type.Static() {
		e.not()
	}
	s := q.Type.Shape
	q = e.Reshape(q, s[0], s[1]/r, r*s[2], s[3])
	args := []ir.Arg{arg(ir.ParamQuery, q), arg(ir.ParamKey, k), arg(ir.ParamValue, v)}
	if mask != nil && s[2] > 1 {
		rank := mask.Type.Rank()
		if rank > 2 && mask.Type.Shape[rank-3] != 1 || rank < 2 || !mask.Type.Static() {
			e.not()
		}
		reps := slices.Repeat([]int64{1}, rank)
		if reps[rank-2] = r; mask.Type.Shape[rank-2] > 1 {
			mask = e.Do(ir.OpTile, arg(ir.ParamX, mask), arg(ir.ParamReps, e.Ints(reps...)))
		}
		args = append(args, arg(ir.ParamAttnMask, mask))
	} else if mask != nil && mask.Type.Rank() > 2 && mask.Type.Shape[mask.Type.Rank()-3] != 1 {
		e.not()
	}
	y := e.again(args...)
	e.become(e.Reshape(y, e.op.Results[0].Type.Shape...))
}

// attention is softmax(scale q k^T + mask) v over several heads, as the parts of a graph.
type attention struct {
	q, k, v *heads
	scale   float64
	mask    *ir.Value // nil for none
	out     *ir.Value // that is replaced: [1, H, S, D], or rows [1, S, H D] if joined
	joined  bool
}

// heads are matrices [1, H, S, D], as the value that holds them.
type heads struct {
	x          *ir.Value
	layout     layout
	h, s, d    int64
	projection *ir.Op // linear layer that computes x, which is in rows and read here only
}

// layout is how a value holds heads.
type layout int

const (
	inRows layout = iota // [1, S, H D]
	apart                // [1, H, S, D]
	across               // [1, H, D, S]
)

// headsOf finds what holds the matrices of v [1, H, S, D], or of the transposed matrices if flip is set.
func (e *edit) headsOf(v *ir.Value, flip bool) *heads {
	s := v.Type.Shape
	h := &heads{x: v, layout: apart, h: s[1], s: s[2], d: s[3]}
	if flip {
		h.layout, h.s, h.d = across, s[3], s[2]
	}
	transpose := e.sole(v, ir.OpTranspose)
	if transpose == nil {
		return h
	}
	perm, err := ir.Perm(transpose)
	want := []int{0, 2, 1, 3}
	if flip {
		want = []int{0, 2, 3, 1}
	}
	cut := e.sole(transpose.Arg(ir.ParamX), ir.OpReshape)
	if err != nil || !slices.Equal(perm, want) || cut == nil || !isRows(cut.Arg(ir.ParamX)) ||
		!slices.Equal(cut.Results[0].Type.Shape, []int64{1, h.s, h.h, h.d}) ||
		!slices.Equal(cut.Arg(ir.ParamX).Type.Shape, []int64{1, h.s, h.h * h.d}) {
		return h
	}
	h.x, h.layout = cut.Arg(ir.ParamX), inRows
	if l := e.sole(h.x, ir.OpLinear); l != nil && isRows(l.Arg(ir.ParamX)) && known(l.Arg(ir.ParamWeight)) != nil {
		h.projection = l
	}
	return h
}

// attentionAt finds the attention that ends in the statement: a product with a softmax, or the operation.
func (e *edit) attentionAt() *attention {
	a := &attention{scale: 1}
	var q, k, v *ir.Value
	flip := false // k is [1, H, D, T]
	if e.op.Is(ir.OpScaledDotProductAttention) {
		q, k, v, a.mask = e.op.Arg(ir.ParamQuery), e.op.Arg(ir.ParamKey), e.op.Arg(ir.ParamValue),
			e.op.Arg(ir.ParamAttnMask)
		if q.Type.Rank() != 4 || !q.Type.Static() {
			return nil
		}
		a.scale = 1 / math.Sqrt(float64(q.Type.Shape[3]))
	} else {
		m, ok := dynamicMatMul(e.op)
		soft := e.sole(e.op.Arg(ir.ParamX), ir.OpSoftmax)
		if !ok || m.TransposeX || m.TransposeY || soft == nil {
			return nil
		}
		axis, _ := ir.ArgInt(soft, ir.ParamAxis)
		v = e.op.Arg(ir.ParamY)
		product := a.scores(e, soft.Arg(ir.ParamX))
		if m, ok = dynamicMatMul(product); !ok || m.TransposeX || (axis != -1 && axis != 3) {
			return nil
		}
		q, k, flip = product.Arg(ir.ParamX), product.Arg(ir.ParamY), !m.TransposeY
	}
	for _, x := range []*ir.Value{q, k, v} {
		if x.Type.Rank() != 4 || !x.Type.Static() || x.Type.DType != ir.FP16 || x.Type.Shape[0] != 1 ||
			x.Type.Shape[1] != q.Type.Shape[1] {
			return nil
		}
	}
	if q.Type.Shape[1] < 2 || q.Type.Shape[1] > maxParts || a.mask != nil && !perHead(a.mask) {
		return nil
	}
	a.q, a.k, a.v = e.headsOf(q, false), e.headsOf(k, flip), e.headsOf(v, false)
	a.out = e.op.Results[0]
	if transpose := e.only(a.out, ir.OpTranspose); transpose != nil {
		perm, err := ir.Perm(transpose)
		rows := e.only(transpose.Results[0], ir.OpReshape)
		if err == nil && slices.Equal(perm, []int{0, 2, 1, 3}) && rows != nil &&
			slices.Equal(rows.Results[0].Type.Shape, []int64{1, a.q.s, a.q.h * a.v.d}) {
			a.out, a.joined = rows.Results[0], true
		}
	}
	return a
}

// perHead reports whether a mask can be cut by head: [.., 1 or H, S or 1, T] in fp16.
func perHead(m *ir.Value) bool {
	return m.Type.Static() && m.Type.DType == ir.FP16 && m.Type.Rank() >= 2 && m.Type.Rank() <= 4 &&
		(m.Type.Rank() < 4 || m.Type.Shape[0] == 1)
}

// scores goes back from what softmax reads to the product, over a mask and a factor.
func (a *attention) scores(e *edit, v *ir.Value) *ir.Op {
	if add := e.sole(v, ir.OpAdd); add != nil {
		v, a.mask = add.Arg(ir.ParamX), add.Arg(ir.ParamY)
		if e.sole(v, ir.OpMatMul, ir.OpMul) == nil {
			v, a.mask = a.mask, v
		}
	}
	if mul := e.sole(v, ir.OpMul); mul != nil {
		f := mul.Arg(ir.ParamY)
		if v = mul.Arg(ir.ParamX); f.Const == nil {
			f, v = v, f
		}
		if f.Const == nil || f.Const.Elems() != 1 {
			return nil
		}
		a.scale = f.Const.Float(0)
	}
	return e.sole(v, ir.OpMatMul)
}

// head is a matrix [1, S, D] of heads.
func (e *edit) head(h *heads, i int64) *ir.Value {
	switch h.layout {
	case inRows:
		return e.Slice(h.x, 2, i*h.d, (i+1)*h.d)
	case across:
		return e.Transpose(e.Reshape(e.Slice(h.x, 1, i, i+1), 1, h.d, h.s), 0, 2, 1)
	}
	return e.Reshape(e.Slice(h.x, 1, i, i+1), 1, h.s, h.d)
}

// maskOf is the part of a mask for a head, of rank 3: [1, S or 1, T].
func (e *edit) maskOf(m *ir.Value, i int64) *ir.Value {
	s := m.Type.Shape
	n := len(s)
	if n > 2 && s[n-3] > 1 {
		m = e.Slice(m, n-3, i, i+1)
	}
	if n == 3 {
		return m
	}
	return e.Reshape(m, 1, s[n-2], s[n-1])
}

// scaled multiplies by a factor other than 1.
func (e *edit) scaled(x *ir.Value, f float64) *ir.Value {
	if f == 1 {
		return x
	}
	return e.Do(ir.OpMul, arg(ir.ParamX, x), arg(ir.ParamY, e.Num(ir.FP16, f)))
}

// byHead computes attention head by head on rows.
func byHead(e *edit) {
	a := e.attentionAt()
	if a == nil {
		e.not()
	}
	var parts []*ir.Value
	for i := range a.q.h {
		s := e.MatMul(e.scaled(e.head(a.q, i), a.scale), e.head(a.k, i), true)
		if a.mask != nil {
			s = e.Do(ir.OpAdd, arg(ir.ParamX, s), arg(ir.ParamY, e.maskOf(a.mask, i)))
		}
		p := e.Do(ir.OpSoftmax, arg(ir.ParamX, s), arg(ir.ParamAxis, e.Int(-1)))
		y := e.MatMul(p, e.head(a.v, i), false)
		if !a.joined {
			y = e.Reshape(y, 1, 1, a.q.s, a.v.d)
		}
		parts = append(parts, y)
	}
	axis := 1
	if a.joined {
		axis = 2
	}
	e.replace(a.out, e.Concat(axis, parts...))
}

// channelsOf is heads as channels [1, H D, 1, S]; projections become convolutions.
func (e *edit) channelsOf(h *heads, transposed map[*ir.Value]*ir.Value) *ir.Value {
	switch {
	case h.projection != nil:
		x := h.projection.Arg(ir.ParamX)
		if transposed[x] == nil {
			transposed[x] = e.channels(x)
		}
		return e.conv1x1(transposed[x], h.projection)
	case h.layout == inRows:
		return e.channels(h.x)
	case h.layout == across:
		return e.Reshape(h.x, 1, h.h*h.d, 1, h.s)
	}
	return e.Reshape(e.Transpose(h.x, 0, 1, 3, 2), 1, h.h*h.d, 1, h.s)
}

// byHeadInChannels computes attention head by head in the layout [1, C, 1, S], with the projections as convolutions.
func byHeadInChannels(e *edit) {
	a := e.attentionAt()
	if a == nil {
		e.not()
	}
	transposed := map[*ir.Value]*ir.Value{}
	q, k, v := e.channelsOf(a.q, transposed), e.channelsOf(a.k, transposed), e.channelsOf(a.v, transposed)
	kt := e.Transpose(k, 0, 3, 2, 1) // [1, T, 1, H D]
	var parts []*ir.Value
	for i := range a.q.h {
		x := e.scaled(e.Slice(q, 1, i*a.q.d, (i+1)*a.q.d), a.scale)
		s := e.einsum("bkhc,bchq->bkhq", e.Slice(kt, 3, i*a.k.d, (i+1)*a.k.d), x)
		if a.mask != nil {
			m := e.maskOf(a.mask, i) // [1, S or 1, T]
			n := m.Type.Shape
			s = e.Do(ir.OpAdd, arg(ir.ParamX, s), arg(ir.ParamY, e.Reshape(e.Transpose(m, 0, 2, 1), 1, n[2], 1, n[1])))
		}
		p := e.Do(ir.OpSoftmax, arg(ir.ParamX, s), arg(ir.ParamAxis, e.Int(1)))
		y := e.einsum("bchk,bkhq->bchq", e.Slice(v, 1, i*a.v.d, (i+1)*a.v.d), p)
		parts = append(parts, y)
	}
	y := e.Concat(1, parts...)
	if !a.joined {
		e.replace(a.out, e.Transpose(e.Reshape(y, 1, a.q.h, a.v.d, a.q.s), 0, 1, 3, 2))
		return
	}
	if l := e.only(a.out, ir.OpLinear); l != nil && known(l.Arg(ir.ParamWeight)) != nil {
		y, a.out = e.conv1x1(y, l), l.Results[0]
	}
	e.replace(a.out, e.rows(y))
}

func (e *edit) einsum(equation string, x, y *ir.Value) *ir.Value {
	return e.Do(ir.OpEinsum, arg(ir.ParamEquation, e.Str(equation)), arg(ir.ParamValues, x), arg(ir.ParamValues, y))
}

// normaliseLate multiplies with the exponentials of a softmax and divides the product by their sum.
func normaliseLate(e *edit) {
	soft := e.sole(e.op.Arg(ir.ParamX), ir.OpSoftmax)
	m, err := ir.MatMulAttrs(e.op)
	if soft == nil || err != nil || m.TransposeX || m.VectorX || m.VectorY {
		e.not()
	}
	x := soft.Arg(ir.ParamX)
	axis, ok := ir.ArgInt(soft, ir.ParamAxis)
	if rank := int64(x.Type.Rank()); !ok || (axis+rank)%rank != rank-1 {
		e.not()
	}
	reduce := func(o *ir.Operation, v *ir.Value) *ir.Value {
		return e.Do(o, arg(ir.ParamX, v), arg(ir.ParamAxes, e.Ints(-1)), arg(ir.ParamKeepDims, e.Bool(true)))
	}
	t := e.Do(ir.OpExp, arg(ir.ParamX, e.Do(ir.OpSub, arg(ir.ParamX, x), arg(ir.ParamY, reduce(ir.OpReduceMax, x)))))
	y := e.again(arg(ir.ParamX, t))
	e.become(e.Do(ir.OpRealDiv, arg(ir.ParamX, y), arg(ir.ParamY, reduce(ir.OpReduceSum, t))))
}
