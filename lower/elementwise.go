package lower

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// pointwise emits tasks that compute dst from one or two sources, which have the shape of dst or broadcast to it. make
// returns a new draft for a piece with the given number of channels.
func (b *builder) pointwise(make func(channels int64) *draft, srcs []*view, dst *view) {
	b.pointwiseAs(make, srcs, dst, func(_, _ *operand) {})
}

// pointwiseAs is like pointwise; adjust completes the sources of each task; the second may be nil.
func (b *builder) pointwiseAs(make func(channels int64) *draft, srcs []*view, dst *view,
	adjust func(first, second *operand)) {
	alongRow := func(s *view) bool { return s.buf.layout == columnAlongRow }
	if alongRow(dst) || slices.ContainsFunc(srcs, alongRow) {
		b.onColumnVectors(make, srcs, dst)
		return
	}
	n, err := newNest(append(append([]*view(nil), srcs...), dst)...)
	if err != nil {
		b.fail("%v", err)
		return
	}
	n.walk(b, len(srcs), func(p *nest, tile int64) {
		first, out := p.operand(0), p.operand(len(srcs))
		d := make(out.ext[axC])
		var second *operand
		if len(srcs) == 2 {
			second = p.operand(1)
		}
		if d.ne != nil {
			tile = b.tileRows(d, first, out, 1, 1, b.t.L2Bytes-l2Reserve)
			first.rows = 0 // the rows of the tile
		} else {
			groupBatch(b.t, first, second, out)
		}
		adjust(first, second)
		if d.ne == nil && stripped(first, cmp.Or(second, out), out) {
			tile = stripTile(b.t, out, int64(len(srcs))+1)
		}
		b.emit(d, first, second, out, tile)
	})
}

// groupBatch makes the images of a batch the groups of a planar task, instead of its depth
// (case env_bcast_mul_8x64x1x1_runtime_8x64x1x1). An operand in scratch may be one image for all
// (case env_bcast_mul_8x64x8x8_runtime_1x64x1x1).
func groupBatch(t *target.Table, operands ...*operand) {
	for _, o := range operands {
		if o != nil && (o.ext[axG] > 1 || o.broadcast[axD] && o.buf.space != scratch ||
			o.ext[axD] > int64(t.MaxGroups)) {
			return
		}
	}
	for _, o := range operands {
		if o == nil || o.ext[axD] == 1 {
			continue
		}
		o.ext[axG], o.ext[axD] = o.ext[axD], 1
		o.stride[axG] = o.stride[axD]
		o.stride[axD] = max(o.ext[axC]*o.stride[axC], o.ext[axH]*o.stride[axH])
		if o.broadcast[axD] {
			o.broadcast[axD], o.flat[axD], o.stride[axG] = false, false, 0
		}
	}
}

// scaleBias emits x*scale + bias on the planar engine.
func (b *builder) scaleBias(x, dst *view, scale, bias float64) {
	b.pointwise(func(int64) *draft {
		d := planar(td.PlanarOne)
		d.pe.scale, d.pe.bias = scale, bias
		return d
	}, []*view{x}, dst)
}

// pairwise emits a planar operation on two sources.
func (b *builder) pairwise(op td.PlanarOp, x, y, dst *view) {
	b.pointwise(func(int64) *draft { return elementwise(op) }, []*view{x, y}, dst)
}

// binary describes how the planar engine computes a MIL operation on two operands.
type binary struct {
	op     td.PlanarOp
	negate bool // the second operand is negated
	// scalar returns the factor and addend that replace a scalar constant as second operand (as first operand if first
	// is set); nil if a scalar has no such form.
	scalar func(c float64, first bool) (scale, bias float64, ok bool)
	// table is the name of the operation's lookup table, whose parameter is a scalar constant
	// (case binary_maximum_c64_constant_scalar).
	table string
}

var binaries = map[*ir.Operation]binary{
	ir.OpAdd:     {op: td.PEAdd, scalar: func(c float64, _ bool) (float64, float64, bool) { return 1, c, true }},
	ir.OpMul:     {op: td.PEMultiply, scalar: func(c float64, _ bool) (float64, float64, bool) { return c, 0, true }},
	ir.OpMaximum: {op: td.PEMax, table: "threshold"},
	ir.OpMinimum: {op: td.PEMin, table: "minimum"},
	ir.OpSub: {op: td.PEAdd, negate: true, scalar: func(c float64, first bool) (float64, float64, bool) {
		if first {
			return -1, c, true
		}
		return 1, -c, true
	}},
	ir.OpRealDiv: {scalar: func(c float64, first bool) (float64, float64, bool) { return 1 / c, 0, !first && c != 0 }},
}

// acceptBinary checks the limits of operations on two operands.
func acceptBinary(op *ir.Op, l *limits) error {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	if x.IsConst() && y.IsConst() {
		return target.Refuse(target.RuleConstants, "x and y", "constants", "at least one live",
			"both operands are constants")
	}
	if op.Is(ir.OpRealDiv) && y.IsConst() {
		for i := range y.Type.Elems() {
			c := y.Const.Float(i)
			if r := weights.FromFP16(weights.ToFP16(1 / c)); !(math.Abs(r*c-1) <= 1.0/2048) {
				return target.Refuse(target.RuleReciprocal, fmt.Sprintf("element %d of y", i), c, "1.53e-05 to 16384",
					fmt.Sprintf("y holds %g, whose reciprocal fp16 does not hold to its precision; the engine "+
						"divides by multiplying with reciprocals", c))
			}
		}
	}
	return l.tensors(op)
}

// operands are an operation on two operands that is to be emitted.
type operands struct {
	binary
	op   *ir.Op
	x, y *ir.Value
	dst  *view
}

// binaryForms are the forms of an operation on two operands. A quotient of an image and one number has a pair for each
// channel too (case binary_real_div_c64_constant_scalar).
var binaryForms = []form[*operands]{
	{"a quotient by a pair for each channel", isQuotient, perChannel},
	{"one number in registers or a table", nil, withNumber},
	{"a pair for each channel", nil, perChannel},
	{"a bound for each channel", nil, boundRow},
	{"a quotient", isQuotient, quotient},
	{"two sources", nil, twoSources},
}

func lowerBinary(b *builder, op *ir.Op) error {
	return emitFirst(b, &operands{
		binary: binaries[op.Def.Operation],
		op:     op,
		x:      op.Arg(ir.ParamX),
		y:      op.Arg(ir.ParamY),
		dst:    b.resultOf(op.Results[0]),
	}, binaryForms)
}

func isQuotient(_ *builder, o *operands) error {
	if !o.op.Is(ir.OpRealDiv) {
		return noFit("not a quotient")
	}
	return nil
}

// withNumber emits an operation with a scalar constant, which is in the factor and the addend of the planar engine or
// in a lookup table.
func withNumber(b *builder, o *operands) error {
	for i, c := range []*ir.Value{o.y, o.x} {
		first, live := i == 1, o.x
		if first {
			live = o.y
		}
		if !c.IsConst() || c.Type.Elems() != 1 || live.Type.Elems() != o.op.Results[0].Type.Elems() {
			continue
		}
		if o.table != "" {
			a, err := weights.Activate(o.table, c.Const.Float(0))
			if err != nil {
				break // not a finite number: the planar engine compares
			}
			s, err := b.tensor(live)
			if err != nil {
				return err
			}
			b.useTable(o.op, a)
			b.tableTask(a, s, o.dst)
			return nil
		}
		if o.scalar == nil {
			break
		}
		if scale, bias, ok := o.scalar(c.Const.Float(0), first); ok {
			s, err := b.tensor(live)
			if err != nil {
				return err
			}
			b.scaleBias(s, o.dst, scale, bias)
			return nil
		}
	}
	return noFit("no operand is one number that registers or a table hold")
}

// tensors returns the operands.
func (o *operands) tensors(b *builder) (x, y *view, err error) {
	if x, err = b.tensor(o.x); err == nil {
		y, err = b.tensor(o.y)
	}
	return x, y, err
}

// quotient emits x / y: the reciprocal of y by table, then a product (case binary_real_div_1x64x8x8).
func quotient(b *builder, o *operands) error {
	x, y, err := o.tensors(b)
	if err != nil {
		return err
	}
	recip, err := weights.Activate("reciprocal")
	if err != nil {
		return err
	}
	r := b.temp(y.dims)
	if takesColumnVectors(o.op) {
		r = b.between(y.dims)
	}
	b.useTable(o.op, recip)
	b.tableTask(recip, y, r)
	b.pairwise(td.PEMultiply, x, r, o.dst)
	return nil
}

func twoSources(b *builder, o *operands) error {
	x, y, err := o.tensors(b)
	if err != nil {
		return err
	}
	second := o.y
	if b.clamped[o.x] {
		x, y, second = y, x, o.x
	}
	dst := o.dst
	if b.aroundProduct(x, y, dst) {
		x, y, dst = asChannels(x), asChannels(y), asChannels(dst)
	}
	y = b.nearby(y, dst)
	b.pointwise(func(int64) *draft {
		d := elementwise(o.binary.op)
		d.pe.neg2, d.pe.clamp2 = o.negate, b.clamped[second]
		return d
	}, []*view{x, y}, dst)
	return nil
}

// aroundProduct reports whether dst is computed from a matrix of the host that was transposed for a product, and from
// another. Its rows are channels then, as the transpose read them (case chain_pair_add_ln_d256_s64): all three tensors
// have the same extents, and each can be viewed so.
func (b *builder) aroundProduct(x, y, dst *view) bool {
	if x.buf.space != inPort || y.buf.space != scratch || dst.buf.space != scratch || len(x.dims) > 3 ||
		!slices.Equal(x.dims, y.dims) || !slices.Equal(x.dims, dst.dims) {
		return false
	}
	m := asRows(matrixOf(x))
	if m == nil || m.dims[0] != x.elems()/x.w() || b.transposes[keyOf(m)] == nil {
		return false
	}
	return asChannels(x) != nil && asChannels(y) != nil && asChannels(dst) != nil
}

// asChannels views the rows of a tensor as channels of one row, or is nil.
func asChannels(s *view) *view { return s.reshape([]int64{s.elems() / s.w(), 1, s.w()}) }

// clampsSource reports whether a relu is computed by the sum that reads it: the planar engine clamps its second source
// on the way in (case chain_res_relu_d256). The sum must be the only reader, and its other operand must be the relu's
// own.
func (b *builder) clampsSource(op *ir.Op) bool {
	x, v := op.Arg(ir.ParamX), op.Results[0]
	r := b.read[v].last
	if r == nil || !r.Is(ir.OpAdd) || b.read[v].n != 1 || b.outs[v] != nil {
		return false
	}
	p, q := r.Arg(ir.ParamX), r.Arg(ir.ParamY)
	return p == x && q == v || p == v && q == x
}

// nearby copies a second operand that is broadcast over the result, so that it can stay in L2 (recorded for every such
// operand that comes from the host, and for the constant row of case chain_base_bias_d256_s64).
func (b *builder) nearby(y, dst *view) *view {
	if b.t.FetchesBroadcast || y.buf.space != inPort && y.buf.space != constant || y.elems() >= dst.elems() {
		return y
	}
	c := b.temp(y.dims)
	b.copyTo(y, c)
	return c
}

// lowerSquare multiplies a tensor by itself.
func lowerSquare(b *builder, op *ir.Op, x *view) error {
	b.pairwise(td.PEMultiply, x, x, b.resultOf(op.Results[0]))
	return nil
}

// lowerAbs takes the absolute value on the planar engine.
func lowerAbs(b *builder, op *ir.Op, x *view) error {
	b.pointwise(func(int64) *draft {
		d := planar(td.PlanarOne)
		d.pe.cond = td.CondAbs
		return d
	}, []*view{x}, b.resultOf(op.Results[0]))
	return nil
}

// lowerRelu clamps at zero on the neural engine, or leaves the clamp to the sum that follows.
func lowerRelu(b *builder, op *ir.Op, x *view) error {
	if b.clampsSource(op) {
		b.vals[op.Results[0]], b.clamped[op.Results[0]] = x, true
		return nil
	}
	b.pointwise(func(int64) *draft {
		d := copying()
		d.ne.act = td.NonlinReLU
		return d
	}, []*view{x}, b.resultOf(op.Results[0]))
	return nil
}

// clipBounds returns the bounds of a clip, or reports that they are unknown. An upper bound below the lower one
// replaces it: every number above the upper bound becomes the upper bound.
func clipBounds(op *ir.Op) (lo, hi float64, ok bool) {
	if op.Is(ir.OpRelu6) {
		return 0, 6, true
	}
	lo, okLo := ir.ArgFloat(op, ir.ParamAlpha)
	hi, okHi := ir.ArgFloat(op, ir.ParamBeta)
	return min(lo, hi), hi, okLo && okHi
}

// clipTable returns the table of a clip, whose two lines have no error (recorded for one bound, inferred for two).
// There is no table without a finite bound. The largest finite number is a bound too: infinities become it.
func clipTable(op *ir.Op) (*weights.Activation, error) {
	lo, hi, ok := clipBounds(op)
	useLo, useHi := lo > math.Inf(-1), hi < math.Inf(1)
	switch {
	case !ok:
		return nil, fmt.Errorf("clip needs constant bounds")
	case useLo && useHi:
		return weights.Activate("clip", lo, hi)
	case useLo:
		return weights.Activate("threshold", lo)
	case useHi:
		return weights.Activate("minimum", hi)
	}
	return nil, fmt.Errorf("clip without a finite bound has no table")
}

// lowerClip clamps on both sides, leaving out an infinite bound.
func lowerClip(b *builder, op *ir.Op, x *view) error {
	lo, hi, ok := clipBounds(op)
	if !ok {
		return fmt.Errorf("clip needs constant bounds")
	}
	dst := b.resultOf(op.Results[0])
	if lo == math.Inf(-1) && hi == math.Inf(1) {
		b.copyTo(x, dst)
		return nil
	}
	a, err := clipTable(op)
	if err != nil { // a bound that is not finite: the planar engine compares
		t := b.temp(dst.dims)
		b.pairwise(td.PEMax, x, b.scalarSurface(lo), t)
		b.pairwise(td.PEMin, t, b.scalarSurface(hi), dst)
		return nil
	}
	b.useTable(op, a)
	b.tableTask(a, x, dst)
	return nil
}

// scalarSurface returns a one-element tensor of the constant section.
func (b *builder) scalarSurface(v float64) *view {
	s, err := b.constView(ir.ConstFloat(ir.FP16, v), []int64{1})
	if err != nil {
		b.fail("%v", err)
		return &view{buf: &buffer{space: constant, def: -1}, dims: []int64{1}, stride: []int64{elemBytes}}
	}
	return s
}
