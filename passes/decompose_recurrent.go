package passes

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// recurrentDecompositions are the decompositions of recurrent layers.
var recurrentDecompositions = []Decomposition{
	{Name: "unrolled", Ops: ops{ir.OpLSTM, ir.OpGRU, ir.OpRNN},
		Doc: "one linear for each gate for the operands of all steps; for every step one for each gate for the " +
			"state, add, the activations and mul",
		Covers: "up to 32 steps and constant weights", apply: decomposeRecurrent},
}

// maxSteps limits the steps of a recurrent layer that is written out. A step of an lstm of 128 elements is estimated at
// 4 us. A layer on the CPU costs a further dispatch beside its own time, estimated at 190 us (docs/cost.md).
const maxSteps = 32

// A layer is a recurrent layer that is written out.
type layer struct {
	*decomposer
	steps, batch, in, hidden int64
	back                     bool // the direction that is written
	parts                    map[gatePart]*ir.Value
}

// A gatePart is one gate's part of a constant.
type gatePart struct {
	of   *ir.Const
	gate int64
}

// param returns the parameter of the direction that is being written.
func (l *layer) param(forward, back ir.ParamName) *ir.Value {
	if l.back {
		forward = back
	}
	if l.op.Def.ParamIndex(forward) < 0 {
		return nil
	}
	return l.op.Arg(forward)
}

// gate multiplies rows by the weights of one gate and adds its part of a bias.
func (l *layer) gate(x, weights, bias *ir.Value, gate int64) *ir.Value {
	args := []ir.Arg{arg(ir.ParamX, x), arg(ir.ParamWeight, l.part(weights, gate))}
	if bias != nil {
		args = append(args, arg(ir.ParamBias, l.part(bias, gate)))
	}
	return l.Do(ir.OpLinear, args...)
}

// part returns one gate's part of a matrix or vector, the same constant for every step.
func (l *layer) part(v *ir.Value, gate int64) *ir.Value {
	k := gatePart{v.Const, gate}
	if l.parts[k] == nil {
		shape := append([]int64{l.hidden}, v.Type.Shape[1:]...)
		n := volume(shape)
		l.parts[k] = l.computed(func(i int64) float64 { return v.Const.Float(gate*n + i) }, shape, v)
	}
	return l.parts[k]
}

// step returns the rows of step t of a value that was computed for all steps.
func (l *layer) step(x *ir.Value, t int64) *ir.Value {
	if l.steps == 1 {
		return x
	}
	return l.Slice(x, 0, t*l.batch, (t+1)*l.batch)
}

// activate writes the activation that a parameter names.
func (l *layer) activate(name ir.ParamName, x *ir.Value) *ir.Value {
	s, _ := ir.ArgString(l.op, name)
	switch s {
	case "tanh", "scaled_tanh":
		return l.unary(ir.OpTanh, x)
	case "sigmoid":
		return l.unary(ir.OpSigmoid, x)
	case "relu":
		return l.unary(ir.OpRelu, x)
	case "sigmoid_hard", "hard_sigmoid":
		return l.Do(ir.OpSigmoidHard, arg(ir.ParamX, x), arg(ir.ParamAlpha, l.num(0.2)), arg(ir.ParamBeta, l.num(0.5)))
	case "linear":
		return x
	}
	return l.Fail("%s is %q", name, s)
}

// decomposeRecurrent writes every step of a recurrent layer.
func decomposeRecurrent(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	direction, _ := ir.ArgString(c.op, ir.ParamDirection)
	sequence, _ := ir.ArgBool(c.op, ir.ParamOutputSequence)
	shape := x.Type.Shape
	l := &layer{decomposer: c, steps: shape[0], batch: shape[1], in: shape[2],
		hidden: c.op.Arg(ir.ParamWeightHH).Type.Shape[1], parts: map[gatePart]*ir.Value{}}
	if l.steps > maxSteps {
		c.past("steps written out", l.steps, maxSteps)
	}
	for i, vs := range c.op.Args {
		switch p := c.op.Def.Params[i].Name; p {
		case ir.ParamX, ir.ParamInitialH, ir.ParamInitialC:
		default:
			for _, v := range vs {
				if !v.IsConst() {
					c.Fail("%s is known only at run time", p)
				}
			}
		}
	}
	rows := c.Reshape(x, l.steps*l.batch, l.in)
	backs := []bool{direction == "reverse"}
	if direction == "bidirectional" {
		backs = []bool{false, true}
	}
	var outputs []*ir.Value // of a direction: its sequence or last state, then the states
	for d, back := range backs {
		l.back = back && len(backs) == 2
		hs, states := l.direction(rows, int64(d), int64(len(backs)), back)
		first := states[0]
		if sequence {
			if back && len(backs) == 2 { // both halves in the order of time
				slices.Reverse(hs)
			}
			first = c.joined(0, hs)
		}
		for i, v := range append([]*ir.Value{first}, states...) {
			if len(outputs) <= i {
				outputs = append(outputs, v)
				continue
			}
			outputs[i] = c.Concat(1, outputs[i], v)
		}
	}
	outputs[0] = c.Reshape(outputs[0], c.op.Results[0].Type.Shape...)
	c.become(outputs...)
}

// direction writes one direction and returns the state h after each step, in the order of the steps, and the last
// states.
func (l *layer) direction(rows *ir.Value, d, directions int64, back bool) (hs, states []*ir.Value) {
	initial := func(p ir.ParamName) *ir.Value {
		v := l.op.Arg(p)
		if v.IsConst() {
			w := v.Type.Shape[1]
			return l.computed(func(i int64) float64 { return v.Const.Float(i/l.hidden*w + d*l.hidden + i%l.hidden) },
				[]int64{l.batch, l.hidden}, v)
		}
		if directions == 1 {
			return v
		}
		return l.decomposer.part(v, 1, d*l.hidden, (d+1)*l.hidden)
	}
	h := initial(ir.ParamInitialH)
	var cell *ir.Value
	if l.op.Is(ir.OpLSTM) {
		cell = initial(ir.ParamInitialC)
	}
	next := l.cell(rows)
	for i := range l.steps {
		t := i
		if back {
			t = l.steps - 1 - i
		}
		h, cell = next(t, h, cell)
		hs = append(hs, h)
	}
	states = []*ir.Value{h}
	if cell != nil {
		states = append(states, cell)
	}
	return hs, states
}

// cell writes what all steps share and returns a function that writes one step.
func (l *layer) cell(rows *ir.Value) func(t int64, h, cell *ir.Value) (*ir.Value, *ir.Value) {
	ih, hh := l.param(ir.ParamWeightIH, ir.ParamWeightIHBack), l.param(ir.ParamWeightHH, ir.ParamWeightHHBack)
	bias := l.param(ir.ParamBias, ir.ParamBiasBack)
	gates := ih.Type.Shape[0] / l.hidden
	inputs := make([]*ir.Value, gates)
	inBias := bias
	if l.op.Is(ir.OpGRU) {
		inBias = l.param(ir.ParamInputBias, ir.ParamInputBias)
	}
	for q := range gates {
		inputs[q] = l.gate(rows, ih, inBias, q)
	}
	// sum writes a gate before its activation.
	sum := func(q, t int64, h, bias *ir.Value) *ir.Value {
		return l.add(l.step(inputs[q], t), l.gate(h, hh, bias, q))
	}
	recurrent := func(x *ir.Value) *ir.Value { return l.activate(ir.ParamRecurrentActivation, x) }
	activation := func(x *ir.Value) *ir.Value { return l.activate(ir.ParamActivation, x) }
	switch {
	case l.op.Is(ir.OpRNN):
		return func(t int64, h, _ *ir.Value) (*ir.Value, *ir.Value) { return activation(sum(0, t, h, nil)), nil }
	case l.op.Is(ir.OpGRU):
		after := false
		if l.op.Def.ParamIndex(ir.ParamResetAfter) >= 0 {
			after, _ = ir.ArgBool(l.op, ir.ParamResetAfter)
		}
		return func(t int64, h, _ *ir.Value) (*ir.Value, *ir.Value) {
			r, z := recurrent(sum(0, t, h, bias)), recurrent(sum(2, t, h, bias))
			var o *ir.Value
			if after {
				o = l.add(l.step(inputs[1], t), l.mul(r, l.gate(h, hh, bias, 1)))
			} else {
				o = sum(1, t, l.mul(r, h), bias)
			}
			// (1-z) o + z h, with one product.
			o = activation(o)
			return l.add(o, l.mul(z, l.sub(h, o))), nil
		}
	}
	peephole := l.param(ir.ParamPeephole, ir.ParamPeepholeBack)
	peep := func(x *ir.Value, q int64, cell *ir.Value) *ir.Value {
		if peephole == nil {
			return x
		}
		return l.add(x, l.mul(cell, l.part(peephole, q)))
	}
	limit, clipped := 0.0, l.op.Arg(ir.ParamClip) != nil
	if clipped {
		limit, _ = ir.ArgFloat(l.op, ir.ParamClip)
	}
	return func(t int64, h, cell *ir.Value) (*ir.Value, *ir.Value) {
		i := recurrent(peep(sum(0, t, h, nil), 0, cell))
		f := recurrent(peep(sum(1, t, h, nil), 1, cell))
		z := l.activate(ir.ParamCellActivation, sum(3, t, h, nil))
		next := l.add(l.mul(f, cell), l.mul(i, z))
		if clipped {
			next = l.Do(ir.OpClip, arg(ir.ParamX, next), arg(ir.ParamAlpha, l.num(-limit)),
				arg(ir.ParamBeta, l.num(limit)))
		}
		o := recurrent(peep(sum(2, t, h, nil), 2, next))
		return l.mul(o, activation(next)), next
	}
}
