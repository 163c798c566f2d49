package exact

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// activation returns the function that a recurrent layer names, nil for an unknown one.
func (c *call) activation(name ir.ParamName, absent string) func(x field.Elem) field.Elem {
	s, ok := ir.ArgString(c.op, name)
	if !ok {
		s = absent
	}
	curve := func(op *ir.Operation, params ...float64) func(x field.Elem) field.Elem {
		return c.valuation.function(op.Forms()[0].Curve, params)
	}
	switch s {
	case "sigmoid":
		return curve(ir.OpSigmoid)
	case "tanh", "scaled_tanh":
		return curve(ir.OpTanh)
	case "relu":
		return func(x field.Elem) field.Elem { return c.Max(x, 0) }
	case "sigmoid_hard", "hard_sigmoid":
		return curve(ir.OpSigmoidHard, numerics.FP16(0.2), 0.5)
	case "linear":
		return func(x field.Elem) field.Elem { return x }
	}
	return nil
}

// A layer is a recurrent layer. Its rows are the elements of a batch.
type layer struct {
	*call
	steps, batch, in, hidden int
	reverse                  []bool // by direction
	gates                    int
}

// A direction is one direction of a layer.
type direction struct {
	*layer
	back       bool
	ih, hh     []field.Elem
	bias, peep []field.Elem // nil for none
	h, cell    []field.Elem // [batch, hidden]
	fromX      []field.Elem // [steps*batch, gates*hidden]: what x adds to the gates
}

// layer returns the layer that the operation is, nil if it has no elements.
func (c *call) layer(gates int) *layer {
	x, hh := c.need(ir.ParamX), c.need(ir.ParamWeightHH)
	l := &layer{call: c, gates: gates, steps: int(x.Type.Shape[0]), batch: int(x.Type.Shape[1]),
		in: int(x.Type.Shape[2]), hidden: int(hh.Type.Shape[1]), reverse: []bool{false}}
	switch s, _ := ir.ArgString(c.op, ir.ParamDirection); s {
	case "reverse":
		l.reverse[0] = true
	case "bidirectional":
		l.reverse = append(l.reverse, true)
	}
	if l.steps*l.batch*l.in*l.hidden == 0 {
		return nil
	}
	return l
}

// direction returns direction d with its parameters.
func (l *layer) direction(d int) *direction {
	one := func(forward, back ir.ParamName) []field.Elem {
		if d == 1 {
			forward = back
		}
		if l.op.Def.ParamIndex(forward) < 0 {
			return nil
		}
		t, _ := l.arg(forward)
		return t.Elems
	}
	r := &direction{layer: l, back: l.reverse[d], ih: one(ir.ParamWeightIH, ir.ParamWeightIHBack),
		hh: one(ir.ParamWeightHH, ir.ParamWeightHHBack), bias: one(ir.ParamBias, ir.ParamBiasBack),
		peep: one(ir.ParamPeephole, ir.ParamPeepholeBack)}
	state := func(name ir.ParamName) []field.Elem {
		if l.op.Def.ParamIndex(name) < 0 {
			return nil
		}
		var out []field.Elem
		for row := range slices.Chunk(l.need(name).Elems, len(l.reverse)*l.hidden) {
			out = append(out, row[d*l.hidden:][:l.hidden]...)
		}
		return out
	}
	r.h, r.cell = state(ir.ParamInitialH), state(ir.ParamInitialC)
	r.fromX = r.linear(l.need(ir.ParamX).Elems, r.ih, l.in, l.gates)
	if bias := one(ir.ParamInputBias, ir.ParamInputBias); bias != nil {
		for row := range slices.Chunk(r.fromX, len(bias)) {
			field.AddRow(row, bias)
		}
	}
	return r
}

// linear multiplies rows of n elements by the weights of gates.
func (l *layer) linear(x, w []field.Elem, n, gates int) []field.Elem {
	rows, width := len(x)/max(n, 1), gates*l.hidden
	out := make([]field.Elem, rows*width)
	l.multiply(dense(out, width).transposed(), dense(w, n), dense(x, n).transposed(), width, n, rows)
	return out
}

// sum returns gate q for element i of the state: what x and the state add to it, and a bias.
func (r *direction) sum(t, q, i int, fromH, bias []field.Elem) field.Elem {
	width := r.gates * r.hidden
	at, k := i/r.hidden, q*r.hidden+i%r.hidden
	s := field.Add(r.fromX[(t*r.batch+at)*width+k], fromH[at*width+k])
	if bias != nil {
		s = field.Add(s, bias[k])
	}
	return s
}

// run computes all directions with the step from one state to the next.
func (l *layer) run(step func(r *direction, t int)) []Tensor {
	sequence, _ := ir.ArgBool(l.op, ir.ParamOutputSequence)
	dirs, size := len(l.reverse), l.batch*l.hidden
	n := 1
	if sequence {
		n = l.steps
	}
	results := [][]field.Elem{make([]field.Elem, n*size*dirs)}
	for range l.op.Results[1:] {
		results = append(results, make([]field.Elem, size*dirs))
	}
	// put writes a state of direction d to place at of a result.
	put := func(to []field.Elem, at, d int, state []field.Elem) {
		for b := range l.batch {
			copy(to[((at*l.batch+b)*dirs+d)*l.hidden:], state[b*l.hidden:][:l.hidden])
		}
	}
	for d := range l.reverse {
		r := l.direction(d)
		for i := range l.steps {
			t := i
			if r.back {
				t = l.steps - 1 - i
			}
			step(r, t)
			switch {
			case sequence && dirs == 2:
				put(results[0], t, d, r.h) // both in the order of time
			case sequence:
				put(results[0], i, d, r.h)
			case i == l.steps-1:
				put(results[0], 0, d, r.h)
			}
		}
		for i, state := range [][]field.Elem{r.h, r.cell}[:len(results)-1] {
			put(results[1+i], 0, d, state)
		}
	}
	out := make([]Tensor, len(results))
	for i, v := range results {
		out[i] = l.out(i, v)
	}
	return out
}

// lstm has the gates input, forget, output and cell. Peepholes are for the first three; the output gate's reads the new
// cell.
func lstm(c *call) []Tensor {
	gate, cellGate := c.activation(ir.ParamRecurrentActivation, "sigmoid"), c.activation(ir.ParamCellActivation, "tanh")
	activation := c.activation(ir.ParamActivation, "tanh")
	limit, clipped := ir.ArgFloat(c.op, ir.ParamClip)
	l := c.layer(4)
	if l == nil || gate == nil || cellGate == nil || activation == nil || c.op.Arg(ir.ParamClip) != nil && !clipped {
		return nil
	}
	most := field.Number(numerics.FP16(limit))
	return l.run(func(r *direction, t int) {
		fromH := l.linear(r.h, r.hh, l.hidden, 4)
		h, cell := make([]field.Elem, len(r.h)), make([]field.Elem, len(r.h))
		for i := range h {
			sum := func(q int, cell field.Elem) field.Elem {
				s := r.sum(t, q, i, fromH, r.bias)
				if r.peep != nil && q < 3 {
					s = field.Add(s, field.Mul(cell, r.peep[q*l.hidden+i%l.hidden]))
				}
				return s
			}
			old := r.cell[i]
			next := field.Add(field.Mul(gate(sum(1, old)), old), field.Mul(gate(sum(0, old)), cellGate(sum(3, old))))
			if clipped {
				next = c.Clip(next, field.Neg(most), most)
			}
			cell[i], h[i] = next, field.Mul(gate(sum(2, next)), activation(next))
		}
		r.h, r.cell = h, cell
	})
}

// gru has the gates reset, output and update. reset multiplies the state before the product with it, or with
// reset_after the product.
func gru(c *call) []Tensor {
	gate, activation := c.activation(ir.ParamRecurrentActivation, "sigmoid"), c.activation(ir.ParamActivation, "tanh")
	l, after := c.layer(3), false
	if c.op.Def.ParamIndex(ir.ParamResetAfter) >= 0 {
		after, _ = ir.ArgBool(c.op, ir.ParamResetAfter)
	}
	if l == nil || gate == nil || activation == nil || len(l.reverse) != 1 {
		return nil
	}
	n := l.hidden
	return l.run(func(r *direction, t int) {
		fromH := l.linear(r.h, r.hh, n, 3)
		reset, h := make([]field.Elem, len(r.h)), make([]field.Elem, len(r.h))
		for i := range reset {
			reset[i] = gate(r.sum(t, 0, i, fromH, r.bias))
		}
		fromReset := make([]field.Elem, len(r.h))
		for i := range fromReset {
			fromReset[i] = field.Mul(reset[i], r.h[i])
		}
		fromReset = l.linear(fromReset, r.hh[n*n:2*n*n], n, 1)
		for i := range h {
			o := fromReset[i]
			at, k := i/n, n+i%n
			if after {
				o = fromH[at*3*n+k]
			}
			if r.bias != nil {
				o = field.Add(o, r.bias[k])
			}
			if after {
				o = field.Mul(reset[i], o)
			}
			o = activation(field.Add(r.fromX[(t*l.batch+at)*3*n+k], o))
			z := gate(r.sum(t, 2, i, fromH, r.bias))
			h[i] = field.Add(o, field.Mul(z, field.Sub(r.h[i], o)))
		}
		r.h = h
	})
}

// rnn has one gate.
func rnn(c *call) []Tensor {
	activation, l := c.activation(ir.ParamActivation, "tanh"), c.layer(1)
	if l == nil || activation == nil || len(l.reverse) != 1 {
		return nil
	}
	return l.run(func(r *direction, t int) {
		fromH := l.linear(r.h, r.hh, l.hidden, 1)
		h := make([]field.Elem, len(r.h))
		for i := range h {
			h[i] = activation(r.sum(t, 0, i, fromH, r.bias))
		}
		r.h = h
	})
}
