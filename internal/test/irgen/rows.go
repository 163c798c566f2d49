package irgen

import (
	"maps"

	"github.com/zinc-compiler/zinc/ir"
)

// rows contains a row for each operation of the registry.
var rows = func() map[*ir.Operation]row {
	all := map[*ir.Operation]row{}
	for _, family := range []map[*ir.Operation]row{
		pointwiseRows(), productRows(), reductionRows(), normRows(), movementRows(), indexRows(), imageRows(),
		tensorRows(), controlRows(), compressedRows(),
	} {
		maps.Copy(all, family)
	}
	return all
}()

// family returns one row for several operations.
func family(r row, ops ...*ir.Operation) map[*ir.Operation]row {
	out := map[*ir.Operation]row{}
	for _, op := range ops {
		out[op] = r
	}
	return out
}

func join(families ...map[*ir.Operation]row) map[*ir.Operation]row {
	out := map[*ir.Operation]row{}
	for _, f := range families {
		maps.Copy(out, f)
	}
	return out
}

// x is an operand for the parameter x of an operation.
func (m *maker) x(op *ir.Operation, least, most int) *ir.Value {
	return m.operand(want{types: m.types(op, ir.ParamX), least: least, most: most})
}

// smooth is like x, for operations with jumps: two correct runs agree exactly on the operand.
func (m *maker) smooth(op *ir.Operation, least, most int) *ir.Value {
	return m.operand(want{types: m.types(op, ir.ParamX), least: least, most: most, smooth: true})
}

// one is a row of an operation that has the parameter x, and others with the given values, each of them or none.
func one(least, most int, more ...any) row {
	return func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, least, most)
		return m.try(op.Name, m.maybe([]any{"x", x}, more...)...)
	}
}

// required is like one, with other arguments that are not optional.
func required(least, most int, more ...any) row {
	return func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, least, most)
		return m.try(op.Name, append([]any{"x", x}, more...)...)
	}
}

// within is like one, with the operand kept within bounds between which the function is well behaved.
func within(low, high float64) row {
	return func(m *maker, op *ir.Operation) []*ir.Value {
		return m.try(op.Name, "x", m.between(m.x(op, 1, 5), low, high))
	}
}

// stepped is like one, for an operation with jumps.
func stepped(least, most int, more ...any) row {
	return func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.smooth(op, least, most)
		return m.try(op.Name, m.maybe([]any{"x", x}, more...)...)
	}
}

// ofPositive is like one, with the operand kept away from zero.
func ofPositive(more ...any) row {
	return func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, 1, 5)
		x = m.positiveOf(x)
		return m.try(op.Name, m.maybe([]any{"x", x}, more...)...)
	}
}

func pointwiseRows() map[*ir.Operation]row {
	return join(
		family(one(1, 5), ir.OpAbs, ir.OpSquare, ir.OpErf, ir.OpTanh, ir.OpSin, ir.OpCos, ir.OpRelu, ir.OpRelu6,
			ir.OpSigmoid, ir.OpSilu, ir.OpSoftplus, ir.OpSoftsign, ir.OpAtan),
		family(stepped(1, 5), ir.OpSign, ir.OpCeil, ir.OpFloor, ir.OpRound, ir.OpLogicalNot),
		family(within(-4, 2), ir.OpExp, ir.OpExp2, ir.OpCosh, ir.OpSinh),
		family(within(-0.75, 0.75), ir.OpAcos, ir.OpAsin, ir.OpAtanh, ir.OpTan),
		family(ofPositive(), ir.OpSqrt),
		family(ofPositive("epsilon", 0.125), ir.OpInverse, ir.OpLog, ir.OpRsqrt),
		family(castRow, ir.OpCast),
		family(required(1, 5, "alpha", -0.5, "beta", 1.25), ir.OpClip, ir.OpLinearActivation, ir.OpSigmoidHard,
			ir.OpScaledTanh),
		family(required(1, 5, "alpha", 0.25), ir.OpElu, ir.OpLeakyRelu, ir.OpThreshold),
		family(required(1, 5, "alpha", 0.25, "beta", 1.5), ir.OpClampedRelu),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			return m.try(op.Name, "x", m.smooth(op, 1, 5), "alpha", 0.25)
		}, ir.OpThresholdedRelu),
		family(channelActivationRow, ir.OpPrelu, ir.OpSoftplusParametric),
		family(geluRow, ir.OpGelu),
		family(binaryRow, ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpMaximum, ir.OpMinimum),
		family(divisionRow, ir.OpRealDiv, ir.OpFloorDiv, ir.OpMod),
		family(powRow, ir.OpPow),
		family(compareRow, ir.OpEqual, ir.OpNotEqual, ir.OpLess, ir.OpLessEqual, ir.OpGreater, ir.OpGreaterEqual,
			ir.OpLogicalAnd, ir.OpLogicalOr, ir.OpLogicalXor),
		family(selectRow, ir.OpSelect),
		family(quantizeRow, ir.OpQuantize, ir.OpDequantize),
	)
}

// castRow casts, from values on which two correct runs agree if the result is not a float. Negative numbers are not
// cast to unsigned integers.
func castRow(m *maker, op *ir.Operation) []*ir.Value {
	t := pick(m.choices, castTypes...)
	x := m.operand(want{types: m.types(op, ir.ParamX), most: 5, smooth: !t.IsFloat()})
	if x.Type.DType.IsFloat() && !t.IsFloat() && !t.IsSigned() && t != ir.Bool {
		x = m.do("abs", "x", x)
	}
	return m.try(op.Name, "x", x, "dtype", t.String())
}

// channelActivationRow takes one positive number per channel for each parameter.
func channelActivationRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.x(op, 3, 5)
	args := []any{"x", x, "alpha", m.positiveFor(op, ir.ParamAlpha, x, x.Type.Shape[1])}
	if op == ir.OpSoftplusParametric {
		args = append(args, "beta", m.positiveFor(op, ir.ParamBeta, x, x.Type.Shape[1]))
	}
	return m.try(op.Name, args...)
}

// geluRow chooses the mode.
func geluRow(m *maker, op *ir.Operation) []*ir.Value {
	return one(1, 5, "mode", pick(m.choices, "EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"))(m, op)
}

// divisionRow divides by positive numbers.
func divisionRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.operand(want{types: m.types(op, ir.ParamX), least: 1, smooth: op != ir.OpRealDiv})
	y := m.other(x)
	if op != ir.OpRealDiv && m.rough[y] {
		return nil
	}
	y = m.positiveOf(y)
	if op != ir.OpRealDiv {
		m.rough[y] = false
		if x.Type.DType.IsFloat() { // a sum that rounds differently may have another nearest multiple
			y = m.number(x, float64(1+m.n(3))/2)
		}
	}
	return m.try(op.Name, "x", x, "y", y)
}

// powRow raises positive numbers to constant or bounded exponents, and integers to small whole ones.
func powRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.x(op, 1, 5)
	if !x.Type.DType.IsFloat() {
		return m.try(op.Name, "x", x, "y", m.number(x, float64(m.n(4))))
	}
	x = m.positiveOf(x)
	if m.n(4) == 0 {
		return m.try(op.Name, "x", x, "y", m.between(m.other(x), -1, 1.5))
	}
	return m.try(op.Name, "x", x, "y", m.number(x, pick(m.choices, 2.0, 0.5, -1, 3, 0.25, -0.5, 1, 0, 1.5)))
}

// selectRow selects between operands that broadcast with each other and with the condition.
func selectRow(m *maker, op *ir.Operation) []*ir.Value {
	a := m.operand(want{types: m.types(op, ir.ParamA), least: 1})
	b := m.other(a)
	if m.yes() {
		a, b = b, a
	}
	cond := m.find(want{types: ir.DTypesOf(ir.Bool), least: a.Type.Rank(), most: a.Type.Rank(),
		fits: func(s []int64) bool {
			_, _, ok := ir.Broadcast(s, a.Type.Shape)
			return ok
		}})
	if cond == nil {
		cond = m.newOf(ir.DTypesOf(ir.Bool), m.broadcastTo(a)...)
	}
	return m.try(op.Name, "cond", cond, "a", a, "b", b)
}

// quantizeRow scales by one number, or by one per element of an axis.
func quantizeRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.operand(want{types: m.types(op, ir.ParamInput), least: 1, most: 5, smooth: op == ir.OpQuantize})
	float, q := x.Type.DType, pick(m.choices, ir.Int8, ir.UInt8)
	args := []any{"input", x}
	if op == ir.OpQuantize {
		args = append(args, "output_dtype", q.String())
	} else {
		float, q = m.float, x.Type.DType
	}
	axis := m.axis(x)
	var of []int64
	if m.yes() {
		of = []int64{x.Type.Shape[axis]}
		args = append(args, "axis", axis)
	}
	args = append(args, "scale", m.g.Filled(float, func(i int64) float64 { return float64(1+i%3) / 16 }, of...))
	if m.yes() {
		args = append(args, "zero_point", m.constant(q, of...))
	}
	return m.try(op.Name, args...)
}

// positiveFor returns a constant for a parameter that has one number for each channel.
func (m *maker) positiveFor(op *ir.Operation, p ir.ParamName, x *ir.Value, n int64) *ir.Value {
	float := m.float
	if d := m.def(op); d.Params[d.ParamIndex(p)].Same == d.Params[d.ParamIndex(ir.ParamX)].Same {
		float = x.Type.DType
	}
	return m.g.Filled(float, func(i int64) float64 { return 0.25 + float64(i%5)/4 }, n)
}

// other returns an operand of the type of x that broadcasts with it: a number, the same value, a part of its shape.
func (m *maker) other(x *ir.Value) *ir.Value {
	switch m.n(5) {
	case 0:
		if x.Type.DType == ir.Bool {
			return m.number(x, float64(m.n(2)))
		}
		return m.number(x, float64(m.n(7)-3)/2)
	case 1:
		return x
	case 2:
		return m.like(x, x.Type.Shape...)
	}
	return m.like(x, m.broadcastTo(x)...)
}

func binaryRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.x(op, 1, 5)
	y := m.other(x)
	if m.yes() {
		x, y = y, x
	}
	return m.try(op.Name, "x", x, "y", y)
}

func compareRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.smooth(op, 1, 5)
	y := m.other(x)
	if m.rough[y] {
		return nil
	}
	return m.try(op.Name, "x", x, "y", y)
}

func reductionRows() map[*ir.Operation]row {
	reduce := func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, 1, 5)
		if op == ir.OpReduceLogSum || op == ir.OpReduceProd {
			x = m.positiveOf(x)
		}
		if op == ir.OpReduceProd {
			x = m.between(x, 0.5, 1.25)
		}
		var axes []int
		for i := range x.Type.Rank() {
			if m.yes() {
				axes = append(axes, i-m.n(2)*x.Type.Rank())
			}
		}
		args := m.maybe([]any{"x", x}, "keep_dims", m.yes())
		if axes != nil {
			args = append(args, "axes", axes)
		}
		return m.try(op.Name, args...)
	}
	arg := func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.smooth(op, 1, 5)
		args := m.maybe([]any{"x", x}, "axis", m.axis(x), "keep_dims", m.yes())
		if m.has(op, ir.ParamOutputDType) {
			args = m.maybe(args, "output_dtype", pick(m.choices, "int32", "uint16"))
		}
		return m.try(op.Name, args...)
	}
	return join(
		family(reduce, ir.OpReduceL1Norm, ir.OpReduceL2Norm, ir.OpReduceLogSum, ir.OpReduceLogSumExp, ir.OpReduceMax,
			ir.OpReduceMean, ir.OpReduceMin, ir.OpReduceProd, ir.OpReduceSum, ir.OpReduceSumSquare),
		family(arg, ir.OpReduceArgmax, ir.OpReduceArgmin),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 1, 5)
			args := m.maybe([]any{"x", x}, "axis", m.axis(x), "exclusive", m.yes(), "reverse", m.yes())
			return m.try(op.Name, args...)
		}, ir.OpCumsum),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.smooth(op, 1, 5)
			return m.try(op.Name, m.maybe([]any{"x", x}, "axis", m.axis(x), "ascending", m.yes())...)
		}, ir.OpArgsort),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.smooth(op, 1, 5)
			axis := m.axis(x)
			args := []any{"x", x, "axis", axis, "k", 1 + m.n(int(min(x.Type.Shape[axis], 8)))}
			args = m.maybe(args, "ascending", m.yes())
			if m.has(op, ir.ParamSort) {
				args = m.maybe(args, "sort", true, "return_indices", m.yes())
			}
			if m.has(op, ir.ParamOutputIndicesDType) {
				args = m.maybe(args, "output_indices_dtype", pick(m.choices, "int32", "uint16"))
			}
			return m.try(op.Name, args...)
		}, ir.OpTopK),
	)
}

func normRows() map[*ir.Operation]row {
	// scaled adds gamma and beta, one number for each of n.
	scaled := func(m *maker, op *ir.Operation, args []any, x *ir.Value, shape ...int64) []any {
		float := x.Type.DType
		if m.def(op).Since != "" && m.n(4) == 0 {
			float = pick(m.choices, ir.FP16, ir.FP32)
		}
		return m.maybe(args, "gamma", m.constant(float, shape...), "beta", m.constant(float, shape...))
	}
	return join(
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 3, 5)
			c, float := x.Type.Shape[1], x.Type.DType
			mean := m.constant(float, c)
			variance := m.g.Filled(float, func(i int64) float64 { return 0.5 + float64(i%4)/2 }, c)
			args := []any{"x", x, "mean", mean, "variance", variance}
			if m.yes() {
				args = append(args, "gamma", m.constant(float, c), "beta", m.constant(float, c))
			}
			return m.try(op.Name, m.maybe(args, "epsilon", 0.01)...)
		}, ir.OpBatchNorm),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 3, 4)
			return m.try(op.Name, scaled(m, op, []any{"x", x, "epsilon", 0.1}, x, x.Type.Shape[1])...)
		}, ir.OpInstanceNorm),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 3, 5)
			return m.try(op.Name, "x", x, "epsilon", 0.01)
		}, ir.OpL2Norm),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 1, 5)
			r := x.Type.Rank()
			n := 1 + m.n(min(3, r))
			axes := make([]int, n)
			for i := range axes {
				axes[i] = r - n + i - m.n(2)*r
			}
			args := []any{"x", x, "epsilon", 0.1}
			if n < r || m.yes() {
				args = append(args, "axes", axes)
			} else {
				n = r
			}
			return m.try(op.Name, scaled(m, op, args, x, x.Type.Shape[r-n:]...)...)
		}, ir.OpLayerNorm),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			beta := pick(m.choices, 0.5, 0.75, 0.6)
			return required(3, 5, "size", 1+m.n(5), "alpha", 0.5, "beta", beta, "k", 1.0)(m, op)
		}, ir.OpLocalResponseNorm),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.x(op, 1, 5)
			return m.try(op.Name, m.maybe([]any{"x", x}, "axis", m.axis(x)-m.n(2)*x.Type.Rank())...)
		}, ir.OpSoftmax),
	)
}
