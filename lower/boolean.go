package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Booleans. A port has one byte for each, 0 or 1; inside a program they are fp16 numbers, 0 or 1. On the way in, a
// table turns every byte other than 0 into 1 (case select_rrb_1x64x1x1); on the way out, a table or a copy writes bytes
// (case less_bool_rr_1x64x1x1, and public records of logical_not).

// takesBools reports whether the tensors of an operation may be booleans.
func takesBools(op *ir.Op) bool {
	_, compares := comparisons[op.Def.Operation]
	return compares || op.Is(ir.OpLogicalNot, ir.OpSelect, ir.OpCast, ir.OpFill, ir.OpFillLike) ||
		op.Def.Class == ir.Movement && !op.Is(ir.OpPad)
}

// asNumbers returns a constant of booleans as fp16 numbers.
func asNumbers(c *ir.Const) *ir.Const {
	n := &ir.Const{Type: c.Type.WithDType(ir.FP16)}
	for i := range c.Type.Elems() {
		n.Data = ir.AppendElem(n.Data, ir.FP16, c.Float(i))
	}
	return n
}

// nonzero returns the fp16 form of a boolean input.
func (b *builder) nonzero(v *ir.Value, port *view) (*view, error) {
	s := b.valueTemp(v, true)
	s.buf.mask = true
	b.tableTask(weights.Steps(0, 1, 0, 1), port, s)
	b.vals[v] = s
	return s, nil
}

// truth returns a boolean in a form that a table can read: the bytes of an input, else the fp16 form.
func (b *builder) truth(v *ir.Value) (*view, error) {
	if s := b.bytes[v]; s != nil {
		return s, nil
	}
	return b.tensor(v)
}

// opposite returns the negation of a boolean: 1 where it is false, else 0.
func (b *builder) opposite(v *ir.Value) (*view, error) {
	if s := b.zeros[v]; s != nil {
		return s, nil
	}
	x, err := b.truth(v)
	if err != nil {
		return nil, err
	}
	s := b.valueTemp(v, true)
	s.buf.mask = true
	b.tableTask(weights.Steps(0, 0, 1, 0), x, s)
	b.zeros[v] = s
	return s, nil
}

// boolResult returns where a table writes a boolean result: the port, whose elements are bytes, if nothing in the
// segment reads the value, else scratch.
func (b *builder) boolResult(v *ir.Value) *view {
	port := b.outs[v]
	if port == nil || b.read[v].n != 0 {
		return b.resultOf(v)
	}
	s := inBuffer(port, tensorDims(v.Type))
	b.vals[v] = s
	return s
}

// transposeBytes transposes a matrix of booleans from port to port, if both operand and result are one, whose bytes a
// single task copies (case candidate_transpose_bool_1x375x375_021).
func (b *builder) transposeBytes(op *ir.Op, perm []int) bool {
	v, y, n := op.Arg(ir.ParamX), op.Results[0], len(perm)-1
	x, port := b.bytes[v], b.outs[y]
	if x == nil || port == nil || v.Type.DType != ir.Bool || b.read[y].n != 0 || n < 1 || perm[n] != n-1 ||
		perm[n-1] != n {
		return false
	}
	w, h := x.dims[n], x.dims[n-1]
	row := align(min(w, b.t.WorkUnit*elemBytes), b.t.L2Granule) + maxRowPad(b.t)
	if w*h != x.elems() || w > int64(b.t.MaxChannels) || h > int64(b.t.MaxChannels) ||
		h*row+w*align(h, b.t.L2Granule) > b.t.L2Bytes-l2Reserve {
		return false
	}
	b.vals[y] = inBuffer(port, tensorDims(y.Type))
	b.transposeTo(x, b.vals[y], perm)
	return true
}

// comparison is the result of a comparison for x below, equal to and above y.
type comparison struct{ below, at, above float64 }

var comparisons = map[*ir.Operation]comparison{
	ir.OpEqual:        {at: 1},
	ir.OpNotEqual:     {below: 1, above: 1},
	ir.OpLess:         {below: 1},
	ir.OpLessEqual:    {below: 1, at: 1},
	ir.OpGreater:      {above: 1},
	ir.OpGreaterEqual: {at: 1, above: 1},
}

func acceptCompare(op *ir.Op, l *limits) error {
	if op.Arg(ir.ParamX).IsConst() && op.Arg(ir.ParamY).IsConst() {
		return target.Refuse(target.RuleConstants, "x and y", "constants", "at least one live",
			"both operands are constants")
	}
	return l.tensors(op)
}

// lowerCompare compares two tensors by the sign of their difference. Two different fp16 numbers never have a difference
// that rounds to zero. Equal infinities have no difference, which counts as zero.
func lowerCompare(b *builder, op *ir.Op) error {
	x, y, is := op.Arg(ir.ParamX), op.Arg(ir.ParamY), comparisons[op.Def.Operation]
	if x.IsConst() && x.Type.Elems() == 1 {
		x, y, is = y, x, comparison{is.above, is.at, is.below}
	}
	whole := x.Type.Elems() == op.Results[0].Type.Elems()
	xs, err := b.tensor(x)
	if err != nil {
		return err
	}
	if y.IsConst() && y.Type.Elems() == 1 && whole {
		c := y.Const.Float(0)
		if math.IsNaN(c) {
			c = math.Inf(1) // as the engine reads it
		}
		b.tableTask(weights.Steps(c, is.below, is.at, is.above), xs, b.boolResult(op.Results[0]))
		return nil
	}
	ys, err := b.tensor(y)
	if err != nil {
		return err
	}
	if op.Is(ir.OpLess) && takesColumnVectors(op) && b.isColumnVector(xs.dims) {
		b.lessOfColumns(weights.Steps(0, is.below, is.at, is.above), xs, ys, b.boolResult(op.Results[0]))
		return nil
	}
	diff := b.temp(tensorDims(op.Results[0].Type))
	b.sum(xs, b.nearby(ys, diff), true, diff)
	b.tableTask(weights.Steps(0, is.below, is.at, is.above), diff, b.boolResult(op.Results[0]))
	return nil
}

// lessOfColumns puts the channels of x and y side by side and computes the sign of their differences with a channelwise
// kernel (case less_bool_rr_1x64x1x1).
func (b *builder) lessOfColumns(sign *weights.Activation, x, y, dst *view) {
	c := dst.elems()
	at := len(x.dims) - 3
	dims := append([]int64(nil), x.dims...)
	dims[at] = 2 * c
	both := b.temp(dims)
	b.copyTo(y, both.slice(at, 1, c, 2))
	b.copyTo(x, both.slice(at, 0, c, 2))
	d := neural(td.NEMultiply)
	d.ne.unicast, d.ne.span = true, 2
	d.table, d.ne.act, d.ne.scale = sign, td.NonlinTable, weights.FromFP16(sign.Scale)
	plan, err := weights.PlanDepthwise(int(c))
	if err != nil {
		b.fail("%v", err)
		return
	}
	if !b.trial {
		b.streamParts(d, plan, &weights.Kernel{}, func() (weights.Parts, error) {
			data, sizes := plan.Differences(&sign.Table)
			return b.sec.AddParts(data, sizes, plan.DifferencesLayout)
		})
		d.kernel.bytes = true
	}
	src, out := b.column(both), b.column(dst)
	b.emit(d, src, nil, out, 0)
}

func lowerLogicalNot(b *builder, op *ir.Op) error {
	x, err := b.truth(op.Arg(ir.ParamX))
	if err != nil {
		return err
	}
	b.tableTask(weights.Steps(0, 0, 1, 0), x, b.boolResult(op.Results[0]))
	return nil
}

func lowerSign(b *builder, op *ir.Op, x *view) error {
	b.tableTask(weights.Steps(0, -1, 0, 1), x, b.resultOf(op.Results[0]))
	return nil
}

func acceptCast(op *ir.Op, l *limits) error {
	x, y := op.Arg(ir.ParamX), op.Results[0]
	if err := l.tensors(op); err != nil {
		return err
	}
	if x.IsConst() {
		return target.Refuse(target.RuleConstants, "x", "constant", "live", "x is a constant")
	}
	if x.Type.DType == y.Type.DType {
		return target.Refuse(target.RuleConversion, "dtype", y.Type.DType, "another type than that of x",
			fmt.Sprintf("x is %s already", x.Type.DType))
	}
	return nil
}

// lowerCast converts between booleans and numbers. Booleans are numbers inside a program already; those that the host
// provides are converted by a planar task (public records of casts). Numbers become booleans by a table (composed),
// which numbers that are 0 or 1 already do not need.
func lowerCast(b *builder, op *ir.Op) error {
	x, y := op.Arg(ir.ParamX), op.Results[0]
	xs, err := b.truth(x)
	if err != nil {
		return err
	}
	switch {
	case xs.buf.narrow:
		b.scaleBias(xs, b.resultOf(y), 1, 0)
	case y.Type.DType == ir.Bool && !isTruth(x):
		b.tableTask(weights.Steps(0, 1, 0, 1), xs, b.boolResult(y))
	default:
		b.vals[y] = xs
	}
	return nil
}

// isTruth reports whether a number is known to be 0 or 1 because it is a product, a maximum or a minimum of such
// numbers.
func isTruth(v *ir.Value) bool {
	op := v.Def
	if op == nil || !op.Is(ir.OpMul, ir.OpMaximum, ir.OpMinimum) {
		return false
	}
	for _, v := range [...]*ir.Value{op.Arg(ir.ParamX), op.Arg(ir.ParamY)} {
		switch {
		case v.IsConst():
			if slices.ContainsFunc(v.Const.Floats(), func(x float64) bool { return x != 0 && x != 1 }) {
				return false
			}
		case v.Def == nil || !v.Def.Is(ir.OpCast) || v.Def.Arg(ir.ParamX).Type.DType != ir.Bool:
			return false
		}
	}
	return true
}

func acceptSelect(op *ir.Op, l *limits) error {
	if op.Arg(ir.ParamA).IsConst() && op.Arg(ir.ParamB).IsConst() && op.Arg(ir.ParamCond).IsConst() {
		return target.Refuse(target.RuleConstants, "a, b and cond", "constants", "at least one live",
			"all operands are constants")
	}
	return l.tensors(op)
}

// lowerSelect adds a, set to zero where cond is false, and b, set to zero where cond is true. On the engine a product
// with 0 is 0, even if the other factor is an infinity (docs/numerics.md), so neither side affects the elements of the
// other.
func lowerSelect(b *builder, op *ir.Op) error {
	cond := op.Arg(ir.ParamCond)
	dst := b.resultOf(op.Results[0])
	x, y := newSide(op.Arg(ir.ParamA), true), newSide(op.Arg(ir.ParamB), false)
	switch {
	case x.scalar && y.scalar && !math.IsInf(y.number, 0):
		s, err := b.truth(cond)
		if err != nil {
			return err
		}
		b.tableTask(weights.Steps(0, x.number, y.number, x.number), s, dst)
		return nil
	case x.zero():
		return b.side(cond, y, dst)
	case y.zero():
		return b.side(cond, x, dst)
	}
	// On column vectors the chosen side is computed first (case select_rrb_1x64x1x1), else the other one
	// (case candidate_select_rrb_1x1024x375_bcast_cond).
	var terms [2]*view
	order := [...]int{1, 0}
	if takesColumnVectors(op) && b.isColumnVector(tensorDims(cond.Type)) {
		order = [...]int{0, 1}
	}
	sides := [...]side{x, y}
	for _, i := range order {
		v := sides[i]
		dims := tensorDims(cond.Type)
		if !v.scalar {
			dims = broadcastDims(dims, tensorDims(v.Type))
		}
		terms[i] = b.temp(dims)
		if takesColumnVectors(op) {
			terms[i] = b.between(dims)
		}
		if err := b.side(cond, v, terms[i]); err != nil {
			return err
		}
	}
	if terms[0].elems() < terms[1].elems() {
		terms[0], terms[1] = terms[1], terms[0]
	}
	b.pairwise(td.PEAdd, terms[0], terms[1], dst)
	return nil
}

// side is one of the values that a select chooses between.
type side struct {
	*ir.Value
	chosen bool // the side is used where the condition is true
	scalar bool // the side is a constant of one element, number
	number float64
}

func newSide(v *ir.Value, chosen bool) side {
	s := side{Value: v, chosen: chosen, scalar: v.IsConst() && v.Type.Elems() == 1}
	if s.scalar {
		if s.number = v.Const.Float(0); math.IsNaN(s.number) {
			s.number = math.Inf(1) // as the engine reads it
		}
	}
	return s
}

// zero reports whether the side is zero throughout.
func (s *side) zero() bool { return s.scalar && s.number == 0 }

// side writes a side of a select to dst, with zeros where the other side is chosen.
func (b *builder) side(cond *ir.Value, v side, dst *view) error {
	if v.scalar {
		return b.scalarSide(cond, v, dst)
	}
	mask, err := b.mask(cond, v.chosen)
	if err != nil {
		return err
	}
	x, err := b.tensor(v.Value)
	if err != nil {
		return err
	}
	b.pairwise(td.PEMultiply, mask, b.nearby(x, dst), dst)
	return nil
}

// scalarSide is like side for a number, using a table of the condition.
func (b *builder) scalarSide(cond *ir.Value, v side, dst *view) error {
	x, err := b.truth(cond)
	if err != nil {
		return err
	}
	a := weights.Steps(0, v.number, 0, v.number)
	switch {
	case v.chosen:
	case math.IsInf(v.number, 0): // no table has an infinity between its bounds
		if x, err = b.opposite(cond); err != nil {
			return err
		}
	default:
		a = weights.Steps(0, 0, v.number, 0)
	}
	b.tableTask(a, x, dst)
	return nil
}

// mask returns 1 where cond equals chosen, else 0.
func (b *builder) mask(cond *ir.Value, chosen bool) (*view, error) {
	if chosen {
		return b.tensor(cond)
	}
	return b.opposite(cond)
}

// broadcastDims returns the shape that two tensors broadcast to.
func broadcastDims(x, y []int64) []int64 {
	if len(x) < len(y) {
		x, y = y, x
	}
	dims := append([]int64(nil), x...)
	for i, d := range y {
		k := len(x) - len(y) + i
		dims[k] = max(dims[k], d)
	}
	return dims
}
