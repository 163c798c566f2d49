package neuralnetwork

import (
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/ir"
)

// function returns what writes an operation on every element.
func function(o *ir.Operation) func(l *layer) []tensor {
	return func(l *layer) []tensor { return one(l.on(o, l.in[0].v), l.in[0].five) }
}

// fold combines values from left to right.
func (l *layer) fold(o *ir.Operation, vs []*ir.Value) *ir.Value {
	v := vs[0]
	for _, w := range vs[1:] {
		v = l.Binary(o, v, w)
	}
	return v
}

// combined returns what combines inputs element by element: one with the number alpha, which only sums and products
// have.
func combined(o *ir.Operation) func(l *layer) []tensor {
	return func(l *layer) []tensor {
		vs, five := l.alike()
		if len(vs) == 1 && o != ir.OpMaximum && o != ir.OpMinimum {
			vs = append(vs, l.num(l.Float("alpha")))
		}
		return one(l.fold(o, vs), five)
	}
}

// broadcast returns what combines inputs by the rules of numpy.
func broadcast(o *ir.Operation) func(l *layer) []tensor {
	return func(l *layer) []tensor {
		vs, five := l.alike()
		return one(l.fold(o, vs), five)
	}
}

func (l *layer) average() []tensor {
	vs, five := l.alike()
	sum := l.fold(ir.OpAdd, vs)
	return one(l.Binary(ir.OpMul, sum, l.num(1/float64(len(vs)))), five)
}

func (l *layer) dot() []tensor {
	if l.Bool("cosineSimilarity") {
		l.reject("cosineSimilarity", "zinc does not read it, since the format does not say how 0 is divided by 0")
	}
	a, b := l.plane(0), l.plane(1)
	p := l.Binary(ir.OpMul, a.v, b.v)
	return one(l.over(ir.OpReduceSum, p, int64(l.axisOf(p, -3))), a.five)
}

// compared returns what compares two inputs, or one with the number alpha: 1 where it holds, else 0.
func compared(o *ir.Operation) func(l *layer) []tensor {
	return func(l *layer) []tensor {
		vs, five := l.alike()
		if len(vs) == 1 {
			vs = append(vs, l.num(l.Float("alpha")))
		}
		return one(l.Cast(l.Binary(o, vs[0], vs[1]), ir.FP32), five)
	}
}

// truth returns where a value is not 0.
func (l *layer) truth(v *ir.Value) *ir.Value { return l.Binary(ir.OpNotEqual, v, l.num(0)) }

// logical returns what combines truth values, which are numbers that are 0 or not.
func logical(o *ir.Operation) func(l *layer) []tensor {
	return func(l *layer) []tensor {
		vs, five := l.alike()
		args := []ir.Arg{arg(ir.ParamX, l.truth(vs[0]))}
		if len(vs) > 1 {
			args = append(args, arg(ir.ParamY, l.truth(vs[1])))
		}
		return one(l.Cast(l.Do(o, args...), ir.FP32), five)
	}
}

func (l *layer) where() []tensor {
	vs, five := l.alike()
	return one(l.Do(ir.OpSelect, arg(ir.ParamCond, l.truth(vs[0])), arg(ir.ParamA, vs[1]), arg(ir.ParamB, vs[2])), five)
}

// activations are the kinds of activations that have numbers alone.
var activations = map[string]struct {
	op     *ir.Operation
	params []ir.ParamName
}{
	"linear":          {ir.OpLinearActivation, []ir.ParamName{ir.ParamAlpha, ir.ParamBeta}},
	"ReLU":            {ir.OpRelu, nil},
	"leakyReLU":       {ir.OpLeakyRelu, []ir.ParamName{ir.ParamAlpha}},
	"thresholdedReLU": {ir.OpThresholdedRelu, []ir.ParamName{ir.ParamAlpha}},
	"tanh":            {ir.OpTanh, nil},
	"scaledTanh":      {ir.OpScaledTanh, []ir.ParamName{ir.ParamAlpha, ir.ParamBeta}},
	"sigmoid":         {ir.OpSigmoid, nil},
	"sigmoidHard":     {ir.OpSigmoidHard, []ir.ParamName{ir.ParamAlpha, ir.ParamBeta}},
	"ELU":             {ir.OpElu, []ir.ParamName{ir.ParamAlpha}},
	"softsign":        {ir.OpSoftsign, nil},
	"softplus":        {ir.OpSoftplus, nil},
}

func (l *layer) activation() []tensor {
	kind, m, err := l.Choice()
	if err != nil {
		l.Stop(err)
	}
	var args []ir.Arg
	if row, ok := activations[kind]; ok {
		for _, p := range row.params {
			args = append(args, arg(p, l.num(m.Float(string(p)))))
		}
		return one(l.on(row.op, l.in[0].v, args...), l.in[0].five)
	}
	t := l.plane(0)
	c := l.size(t.v, l.axisOf(t.v, -3))
	if kind == "parametricSoftplus" {
		v := l.on(ir.OpSoftplus, l.Binary(ir.OpMul, t.v, l.perChannel(m, "beta", c, 1, 1)))
		return one(l.Binary(ir.OpMul, v, l.perChannel(m, "alpha", c, 1, 1)), t.five)
	}
	alpha := l.perChannel(m, "alpha", c)
	if alpha.Type.Rank() == 0 {
		return one(l.on(ir.OpLeakyRelu, t.v, arg(ir.ParamAlpha, alpha)), t.five)
	}
	if t.v.Type.Rank() == 3 { // channels of the operation are the second dimension
		x := l.on(ir.OpExpandDims, t.v, arg(ir.ParamAxes, l.ints(0)))
		return one(l.squeeze(l.on(ir.OpPrelu, x, arg(ir.ParamAlpha, alpha)), 0), false)
	}
	return one(l.on(ir.OpPrelu, t.v, arg(ir.ParamAlpha, alpha)), t.five)
}

// perChannel returns weights with a number for each channel, or the one number for all that a file may have instead.
func (l *layer) perChannel(m *mlmodel.Message, field string, shape ...int64) *ir.Value {
	if elements(m.Message(field)) == 1 {
		return l.num(l.dense(l.weights(m, field, 1), 0).Float(0))
	}
	return l.vector(m, field, shape...)
}

// elements returns how many numbers weights have, 0 if that depends on their shape.
func elements(w *mlmodel.Message) int {
	single, _ := w.Data("floatValue")
	half, _ := w.Data("float16Value")
	return len(single)/4 + len(half)/2
}

// Values of UnaryFunctionLayerParams.type.
const (
	unarySqrt = iota
	unaryRsqrt
	unaryInverse
	unaryPower
	unaryExp
	unaryLog
	unaryAbs
	unaryThreshold
)

func (l *layer) unary() []tensor {
	t := l.in[0]
	x := l.network.scaled(t.v, []float64{or(l.Message, "scale", 1)}, []float64{l.Float("shift")})
	alpha, epsilon := l.Float("alpha"), or(l.Message, "epsilon", 1e-6)
	switch l.Int("type") {
	case unarySqrt:
		x = l.on(ir.OpSqrt, x)
	case unaryRsqrt:
		x = l.on(ir.OpRsqrt, x, arg(ir.ParamEpsilon, l.num(epsilon)))
	case unaryInverse:
		x = l.on(ir.OpInverse, x, arg(ir.ParamEpsilon, l.num(epsilon)))
	case unaryPower:
		x = l.Binary(ir.OpPow, x, l.num(alpha))
	case unaryExp:
		x = l.on(ir.OpExp, x)
	case unaryLog:
		const logEpsilon = 1e-45 // MIL's own, the smallest that fp32 has: log x has none in the format
		x = l.on(ir.OpLog, x, arg(ir.ParamEpsilon, l.num(logEpsilon)))
	case unaryAbs:
		x = l.on(ir.OpAbs, x)
	case unaryThreshold:
		x = l.Binary(ir.OpMaximum, x, l.num(alpha))
	default:
		l.reject("type", "unknown function %d, want 0 to %d", l.Int("type"), unaryThreshold)
	}
	return one(x, t.five)
}

func (l *layer) clip() []tensor {
	return one(l.on(ir.OpClip, l.in[0].v, arg(ir.ParamAlpha, l.num(l.Float("minVal"))),
		arg(ir.ParamBeta, l.num(l.Float("maxVal")))), l.in[0].five)
}

func (l *layer) clampedReLU() []tensor {
	return one(l.on(ir.OpClampedRelu, l.in[0].v, arg(ir.ParamAlpha, l.num(l.Float("alpha"))),
		arg(ir.ParamBeta, l.num(l.Float("beta")))), l.in[0].five)
}

// geluModes are the values of GeluLayerParams.mode.
var geluModes = []string{"EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"}

func (l *layer) gelu() []tensor {
	return one(l.on(ir.OpGelu, l.in[0].v, arg(ir.ParamMode, l.Str(choice(l, l.Message, "mode", geluModes)))),
		l.in[0].five)
}

// choice returns the name of a value of an enumeration.
func choice[T any](l *layer, m *mlmodel.Message, field string, names []T) T {
	i := m.Int(field)
	if i < 0 || i >= int64(len(names)) {
		l.Stop(m.FieldErrorf(field, "%s: unknown value %d, want 0 to %d", l.what(), i, len(names)-1))
	}
	return names[i]
}

// scale has weights of [1], [C], [1, H, W] or [C, H, W].
func (l *layer) scale() []tensor {
	t := l.plane(0)
	v := l.Binary(ir.OpMul, t.v, l.shaped("shapeScale", "scale"))
	if l.Bool("hasBias") {
		v = l.Binary(ir.OpAdd, v, l.shaped("shapeBias", "bias"))
	}
	return one(v, t.five)
}

func (l *layer) bias() []tensor {
	t := l.plane(0)
	return one(l.Binary(ir.OpAdd, t.v, l.shaped("shape", "bias")), t.five)
}

// shaped returns weights with the shape in another field. One dimension is the channels.
func (l *layer) shaped(shape, field string) *ir.Value {
	s := l.Ints(shape)
	if len(s) == 1 {
		s = append(s, 1, 1)
	}
	if len(s) != 3 {
		l.reject(shape, "a shape of %d dimensions; want 1, channels, or 3, channels, height and width", len(s))
	}
	return l.vector(l.Message, field, s...)
}

// over reduces axes and keeps them with 1 element.
func (l *layer) over(o *ir.Operation, v *ir.Value, axes ...int64) *ir.Value {
	return l.on(o, v, arg(ir.ParamAxes, l.ints(axes...)), arg(ir.ParamKeepDims, l.flag(true)))
}

// reductions are the values of ReduceLayerParams.mode, and reducedAxes of its axis.
var (
	reductions = []*ir.Operation{ir.OpReduceSum, ir.OpReduceMean, ir.OpReduceProd, nil, ir.OpReduceSumSquare,
		ir.OpReduceL1Norm, ir.OpReduceL2Norm, ir.OpReduceMax, ir.OpReduceMin, ir.OpReduceArgmax}
	reducedAxes = [][]int{{-3, -2, -1}, {-2, -1}, {-3}, {-2}, {-1}}
)

func (l *layer) reduce() []tensor {
	t := l.plane(0)
	o := choice(l, l.Message, "mode", reductions)
	var axes []int64
	for _, a := range choice(l, l.Message, "axis", reducedAxes) {
		axes = append(axes, int64(l.axisOf(t.v, a)))
	}
	switch {
	case o == nil: // the logarithm of the sum
		v := l.over(ir.OpReduceSum, t.v, axes...)
		return one(l.on(ir.OpLog, v, arg(ir.ParamEpsilon, l.num(or(l.Message, "epsilon", 1e-6)))), t.five)
	case o != ir.OpReduceArgmax:
		return one(l.over(o, t.v, axes...), t.five)
	case len(axes) != 1:
		l.reject("axis", "the largest element is one of one axis")
	}
	return one(l.index(o, t.v, axes[0], true), t.five)
}

// index returns the index of an extremum as a float.
func (l *layer) index(o *ir.Operation, v *ir.Value, axis int64, keep bool) *ir.Value {
	return l.Cast(l.on(o, v, arg(ir.ParamAxis, l.integer(axis)), arg(ir.ParamKeepDims, l.flag(keep))), ir.FP32)
}

// argument returns what finds an extremum along an axis.
func argument(o *ir.Operation) func(l *layer) []tensor {
	return func(l *layer) []tensor {
		return one(l.index(o, l.full(0), l.Int("axis"), !l.Bool("removeDim")), false)
	}
}

// reduction returns what reduces the listed axes.
func reduction(o *ir.Operation) func(l *layer) []tensor {
	return func(l *layer) []tensor {
		v := l.full(0)
		axes := l.Ints("axes")
		if l.Bool("reduceAll") {
			axes = nil
			for i := range v.Type.Rank() {
				axes = append(axes, int64(i))
			}
		}
		return one(l.on(o, v, arg(ir.ParamAxes, l.ints(axes...)), arg(ir.ParamKeepDims, l.flag(l.Bool("keepDims")))),
			false)
	}
}
