package explain

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// sole returns the operation that computes v if it is one of the given ones and nothing else reads v.
func (e *edit) sole(v *ir.Value, os ...*ir.Operation) *ir.Op {
	if v == nil || v.Def == nil || !v.Def.Is(os...) || !e.readOnce(v) {
		return nil
	}
	return v.Def
}

// only returns the only reader of a value if it is one of the given operations.
func (e *edit) only(v *ir.Value, os ...*ir.Operation) *ir.Op {
	if !e.readOnce(v) || e.results[v] {
		return nil
	}
	if op := e.readers(v)[0]; op.Is(os...) {
		return op
	}
	return nil
}

// matrix is a constant as rows of numbers.
func matrix(c *ir.Const, rows int64) (m [][]float64) {
	n := c.Elems() / max(rows, 1)
	for i := range rows {
		row := make([]float64, n)
		for j := range row {
			row[j] = c.Float(i*n + int64(j))
		}
		m = append(m, row)
	}
	return m
}

// floats is a named constant of an element type.
func (e *edit) floats(what string, t ir.DType, vs []float64, shape ...int64) *ir.Value {
	var data []byte
	for _, v := range vs {
		data = ir.AppendElem(data, t, v)
	}
	return e.constant(what, ir.TensorOf(t, shape...), data)
}

// maxMerge bounds the products that merging two weights takes.
const maxMerge = 1 << 28

// mergeConvs computes two convolutions as one, if nothing else reads the first one's result. The kernel is the second
// one's applied to the first one's.
func mergeConvs(e *edit) {
	first := e.sole(e.op.Arg(ir.ParamX), ir.OpConv)
	if first == nil || first.Arg(ir.ParamX).Type.DType != ir.FP16 {
		e.not()
	}
	b, wb := e.convolution()
	a, wa := e.convolutionOf(first)
	ones := func(vs []int64) bool { return !slices.ContainsFunc(vs, func(v int64) bool { return v != 1 }) }
	none := func(vs []int64) bool { return !slices.ContainsFunc(vs, func(v int64) bool { return v != 0 }) }
	unpadded := none(b.PadBefore) && none(b.PadAfter)
	switch {
	case a.Spatial != b.Spatial || a.Groups != 1 || b.Groups != 1 || !ones(b.Dilations):
		e.not()
	case ones(b.Kernel) && ones(b.Strides) && unpadded: // any first one
	case !ones(a.Strides) || !ones(a.Dilations):
		e.not()
	case unpadded: // the kernels add up
	case ones(a.Kernel) && none(a.PadBefore) && none(a.PadAfter) && first.Arg(ir.ParamBias) == nil:
		// zeros around the first one's result are those around its operand
	default:
		e.not()
	}
	e.merged(first, &a, &b, wa, wb)
}

// merged writes the convolution of two kernels: w[o][i][s+t] is the sum over m of wb[o][m][s] wa[m][i][t].
func (e *edit) merged(first *ir.Op, a, b *ir.Conv, wa, wb *ir.Const) {
	out, mid, in := wb.Type.Shape[0], wb.Type.Shape[1], wa.Type.Shape[1]
	ka, kb, k := int64(1), int64(1), int64(1)
	shape := []int64{out, in}
	for i := range a.Spatial {
		n := a.Kernel[i] + b.Kernel[i] - 1
		shape = append(shape, n)
		ka, kb, k = ka*a.Kernel[i], kb*b.Kernel[i], k*n
	}
	if out*in > maxMatrix/k || out*mid*in > maxMerge/(ka*kb) {
		e.Fail("merging the weights takes more than %d products", int64(maxMerge))
		return
	}
	xa, xb := matrix(wa, mid), matrix(wb, out)
	sum := make([]float64, out*in*k)
	for t := range ka {
		for s := range kb {
			at := place(a.Kernel, b.Kernel, t, s)
			for o := range out {
				for m := range mid {
					f := xb[o][m*kb+s]
					for i := range in {
						sum[(o*in+i)*k+at] += f * xa[m][i*ka+t]
					}
				}
			}
		}
	}
	spatial := func(p, q []int64) (vs []int64) {
		for i := range a.Spatial {
			vs = append(vs, p[i]+q[i])
		}
		return vs
	}
	before, after := spatial(a.PadBefore, b.PadBefore), spatial(a.PadAfter, b.PadAfter)
	var pads []int64
	for i := range before {
		pads = append(pads, before[i], after[i])
	}
	strides := make([]int64, a.Spatial)
	for i := range strides {
		strides[i] = a.Strides[i] * b.Strides[i]
	}
	args := []ir.Arg{arg(ir.ParamX, first.Arg(ir.ParamX)),
		arg(ir.ParamWeight, e.floats("weight", ir.FP16, sum, shape...)), arg(ir.ParamPadType, e.Str("custom")),
		arg(ir.ParamPad, e.Ints(pads...)), arg(ir.ParamStrides, e.Ints(strides...)),
		arg(ir.ParamDilations, e.Ints(a.Dilations...)), arg(ir.ParamBias, e.mergedBias(first, xb, mid, kb))}
	e.become(e.again(args...))
}

// place returns the tap of the merged kernel at which tap t of one kernel meets tap s of the other.
func place(ka, kb []int64, t, s int64) int64 {
	at, n := int64(0), int64(1)
	for i := len(ka) - 1; i >= 0; i-- {
		at += (t%ka[i] + s%kb[i]) * n
		n *= ka[i] + kb[i] - 1
		t, s = t/ka[i], s/kb[i]
	}
	return at
}

// mergedBias is the bias of the first operation taken through the weight of the second, plus its own; nil if neither
// has one.
func (e *edit) mergedBias(first *ir.Op, xb [][]float64, mid, kb int64) *ir.Value {
	one, two := first.Arg(ir.ParamBias), e.op.Arg(ir.ParamBias)
	if one == nil && two == nil {
		return nil
	}
	sum := make([]float64, len(xb))
	if one != nil {
		c := known(one)
		if c == nil || c.Elems() != mid {
			return e.Fail("the first bias is not a constant")
		}
		for o := range sum {
			for m := range mid {
				for s := range kb {
					sum[o] += xb[o][m*kb+s] * c.Float(m)
				}
			}
		}
	}
	if two != nil {
		c := known(two)
		if c == nil || c.Elems() != int64(len(sum)) {
			return e.Fail("the second bias is not a constant")
		}
		for o := range sum {
			sum[o] += c.Float(int64(o))
		}
	}
	return e.floats("bias", ir.FP16, sum, int64(len(sum)))
}

// mergeLinears computes two linear layers as one, if nothing else reads the first one's result.
func mergeLinears(e *edit) {
	first := e.sole(e.op.Arg(ir.ParamX), ir.OpLinear)
	if first == nil || e.op.Arg(ir.ParamX).Type.DType != ir.FP16 {
		e.not()
	}
	wa, wb := known(first.Arg(ir.ParamWeight)), known(e.op.Arg(ir.ParamWeight))
	if wa == nil || wb == nil {
		e.not()
	}
	out, mid, in := wb.Type.Shape[0], wb.Type.Shape[1], wa.Type.Shape[1]
	if out*in > maxMatrix || out*in > maxMerge/max(mid, 1) {
		e.Fail("merging the weights takes more than %d products", int64(maxMerge))
		return
	}
	xa, xb := matrix(wa, mid), matrix(wb, out)
	sum := make([]float64, out*in)
	for o := range out {
		for m := range mid {
			for i := range in {
				sum[o*in+i] += xb[o][m] * xa[m][i]
			}
		}
	}
	weight := e.floats("weight", ir.FP16, sum, out, in)
	e.become(e.again(arg(ir.ParamX, first.Arg(ir.ParamX)), arg(ir.ParamWeight, weight),
		arg(ir.ParamBias, e.mergedBias(first, xb, mid, 1))))
}

// joinLinears computes the linear layers of one value together and slices the result.
func joinLinears(e *edit) {
	x := e.op.Arg(ir.ParamX)
	joins := func(op *ir.Op) bool {
		return op != nil && op.Is(ir.OpLinear) && op.Arg(ir.ParamX) == x && known(op.Arg(ir.ParamWeight)) != nil &&
			(op.Arg(ir.ParamBias) == nil || known(op.Arg(ir.ParamBias)) != nil) && op.Results[0].Type.Static()
	}
	first := func(op *ir.Op) bool { return !e.gone[op] && joins(op) }
	if i := slices.IndexFunc(e.uses[x], first); x.Type.DType != ir.FP16 || i < 0 || e.uses[x][i] != e.op {
		e.not() // the first of the layers joins all
		return
	}
	var all []*ir.Op
	biased, rows := false, int64(0)
	for _, op := range e.readers(x) {
		if joins(op) {
			all = append(all, op)
			biased = biased || op.Arg(ir.ParamBias) != nil
			rows += op.Arg(ir.ParamWeight).Type.Shape[0]
		}
	}
	if len(all) < 2 {
		e.not()
	}
	in := all[0].Arg(ir.ParamWeight).Type.Shape[1]
	if rows > maxMatrix/max(in, 1) {
		e.Fail("the joined weight has more than %d elements", int64(maxMatrix))
		return
	}
	var w, b []byte
	for _, op := range all {
		c := known(op.Arg(ir.ParamWeight))
		if c.Type.DType != ir.FP16 {
			e.not()
		}
		w = append(w, c.Data...)
		if bias := op.Arg(ir.ParamBias); bias != nil {
			b = append(b, known(bias).Data...)
		} else {
			b = append(b, make([]byte, 2*c.Type.Shape[0])...)
		}
	}
	weight := e.constant("weight", ir.TensorOf(ir.FP16, rows, in), w)
	args := []ir.Arg{arg(ir.ParamWeight, weight), arg(ir.ParamBias, nil)}
	if biased {
		args[1].Value = e.constant("bias", ir.TensorOf(ir.FP16, rows), b)
	}
	y := e.again(args...)
	at := int64(0)
	for _, op := range all {
		n := op.Arg(ir.ParamWeight).Type.Shape[0]
		part := e.Slice(y, x.Type.Rank()-1, at, at+n)
		e.replace(op.Results[0], part)
		at += n
	}
}

// conv1x1 convolves x [1, C, 1, S] with the weight of a linear layer.
func (e *edit) conv1x1(x *ir.Value, linear *ir.Op) *ir.Value {
	w := known(linear.Arg(ir.ParamWeight))
	if w == nil || x == nil {
		e.not()
		return nil
	}
	c := *w
	c.Type = w.Type.WithShape(w.Type.Shape[0], w.Type.Shape[1], 1, 1)
	kernel := &ir.Value{Name: e.fresh("weight"), Type: c.Type, Const: &c, Pos: e.op.Pos}
	return e.Do(ir.OpConv, arg(ir.ParamX, x), arg(ir.ParamWeight, kernel), arg(ir.ParamBias, linear.Arg(ir.ParamBias)),
		arg(ir.ParamStrides, e.Ints(1, 1)), arg(ir.ParamPadType, e.Str("valid")), arg(ir.ParamPad, e.Ints(0, 0, 0, 0)),
		arg(ir.ParamDilations, e.Ints(1, 1)), arg(ir.ParamGroups, e.Int(1)))
}

// channels gives rows [1, S, C] the layout [1, C, 1, S].
func (e *edit) channels(x *ir.Value) *ir.Value {
	s := x.Type.Shape
	return e.Reshape(e.Transpose(x, 0, 2, 1), 1, s[2], 1, s[1])
}

// rows gives channels [1, C, 1, S] the layout [1, S, C].
func (e *edit) rows(x *ir.Value) *ir.Value {
	s := x.Type.Shape
	return e.Transpose(e.Reshape(x, 1, s[1], s[3]), 0, 2, 1)
}

// isRows reports whether a value is one matrix [1, S, C] in fp16.
func isRows(v *ir.Value) bool {
	return v != nil && v.Type.Rank() == 3 && v.Type.Static() && v.Type.Shape[0] == 1 && v.Type.DType == ir.FP16
}

// linearAsConv computes a linear layer of rows as a convolution of channels.
func linearAsConv(e *edit) {
	if !isRows(e.op.Arg(ir.ParamX)) {
		e.not()
	}
	e.become(e.rows(e.conv1x1(e.channels(e.op.Arg(ir.ParamX)), e.op)))
}

// convOfParts convolves the operands of a concatenation of channels one by one and adds the results.
func convOfParts(e *edit) {
	join := e.sole(e.op.Arg(ir.ParamX), ir.OpConcat)
	if join == nil {
		e.not()
	}
	a, w := e.convolution()
	if a.Groups != 1 || w.Type.DType != ir.FP16 {
		e.not()
	}
	axis, ok := ir.ArgInt(join, ir.ParamAxis)
	mixed, _ := ir.ArgBool(join, ir.ParamInterleave)
	parts := join.ArgList(ir.ParamValues)
	if rank := int64(join.Results[0].Type.Rank()); !ok || mixed || (axis+rank)%rank != 1 || len(parts) > maxParts {
		e.not()
	}
	var sums []*ir.Value
	at := int64(0)
	for i, p := range parts {
		n := p.Type.Shape[1]
		args := []ir.Arg{arg(ir.ParamX, p), arg(ir.ParamWeight, e.cut("weight", w, 1, at, at+n))}
		if i > 0 {
			args = append(args, arg(ir.ParamBias, nil))
		}
		sums = append(sums, e.again(args...))
		at += n
	}
	e.become(e.total(sums))
}
