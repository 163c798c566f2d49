package interp

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpLSTM: lstm,
	ir.OpGRU:  gru,
	ir.OpRNN:  rnn,
})

// gateActivations are the functions that recurrent operations name.
var gateActivations = map[string]func(x float64) float64{
	"tanh":         math.Tanh,
	"scaled_tanh":  math.Tanh,
	"sigmoid":      sigmoid,
	"sigmoid_hard": hardSigmoid,
	"hard_sigmoid": hardSigmoid,
	"relu":         relu,
	"linear":       ident,
}

func hardSigmoid(x float64) float64 { return clip(0.2*x+0.5, 0, 1) }

func (c *call) activation(name ir.ParamName, def string) func(x float64) float64 {
	s := c.string(name, def)
	f := gateActivations[s]
	if f == nil {
		c.fail("argument %s is %q, which names no activation", name, s)
	}
	return f
}

// cell is one direction of a recurrent layer: the sizes, the weights, and the
// step from one state to the next.
type cell struct {
	in, hidden int
	wih, whh   []float32 // [gates*hidden, in], [gates*hidden, hidden]
	bias       []float32 // [gates*hidden]
	gates      int
}

// cell reads the weights of one direction.
func (c *call) cell(back bool, gates, in, hidden int) cell {
	ih, hh, bias := ir.ParamWeightIH, ir.ParamWeightHH, ir.ParamBias
	if back {
		ih, hh, bias = ir.ParamWeightIHBack, ir.ParamWeightHHBack, ir.ParamBiasBack
	}
	k := cell{in: in, hidden: hidden, gates: gates}
	k.wih = c.matrix(ih, gates*hidden, in)
	k.whh = c.matrix(hh, gates*hidden, hidden)
	k.bias = c.vector(bias, gates*hidden, 0)
	return k
}

// matrix returns an argument that must be [rows, cols].
func (c *call) matrix(name ir.ParamName, rows, cols int) []float32 {
	t := c.numeric(name)
	if c.err == nil && !slices.Equal(t.Type.Shape, []int64{int64(rows), int64(cols)}) {
		c.fail("argument %s has shape %s, needs [%d, %d]", name, ir.ShapeString(t.Type.Shape), rows, cols)
	}
	if c.err != nil {
		return nil
	}
	return c.macFloats(t)
}

// project computes W_ih x + b for every step and batch at once: [steps*batch,
// gates*hidden].
func (k cell) project(c *call, xs []float32, n int) []float32 {
	g := k.gates * k.hidden
	out := c.buffer(n * g)
	c.gemm(matrix{data: xs, rows: n, cols: k.in}, matrix{data: k.wih, rows: g, cols: k.in, t: true}, out)
	for i := range out {
		out[i] += k.bias[i%g]
	}
	return out
}

// recurrent is the frame of the three operations: x [steps, batch, in], the
// sequence of outputs, and the state after the last step.
type recurrent struct {
	steps, batch, in, hidden int
	sequence                 bool
	xs                       []float32
	directions               []bool // one per direction: runs backwards
}

func (c *call) recurrent() recurrent {
	var r recurrent
	x, h := c.numeric(ir.ParamX), c.numeric(ir.ParamInitialH)
	dir := c.choice(ir.ParamDirection, "forward", "forward", "reverse", "bidirectional")
	r.sequence = c.bool(ir.ParamOutputSequence, false)
	if c.err == nil && (x.Type.Rank() != 3 || h.Type.Rank() != 2) {
		c.fail("x has shape %s and initial_h has shape %s, need [steps, batch, inputs] and [batch, hidden]",
			ir.ShapeString(x.Type.Shape), ir.ShapeString(h.Type.Shape))
	}
	if c.err != nil {
		return r
	}
	r.steps, r.batch, r.in = int(x.Type.Shape[0]), int(x.Type.Shape[1]), int(x.Type.Shape[2])
	r.hidden = int(h.Type.Shape[1])
	r.directions = []bool{dir == "reverse"}
	if dir == "bidirectional" {
		r.directions = []bool{false, true}
		if r.hidden%2 != 0 {
			c.fail("initial_h has shape %s: two directions need an even number", ir.ShapeString(h.Type.Shape))
		}
		r.hidden /= 2
	}
	if int(h.Type.Shape[0]) != r.batch {
		c.fail("initial_h has shape %s, the batch of x is %d", ir.ShapeString(h.Type.Shape), r.batch)
	}
	r.xs = c.macFloats(x)
	return r
}

// state returns direction d's part of an initial state [batch, dirs*hidden].
func (r recurrent) state(c *call, name ir.ParamName, d int) []float32 {
	all := c.matrix(name, r.batch, len(r.directions)*r.hidden)
	out := c.buffer(r.batch * r.hidden)
	if c.err != nil {
		return nil
	}
	for b := range r.batch {
		copy(out[b*r.hidden:(b+1)*r.hidden], all[(b*len(r.directions)+d)*r.hidden:])
	}
	return out
}

// run drives all directions. start returns a direction's step function, which
// is given the time step to read and moves its state h (shared with the frame).
func (r recurrent) run(c *call, start func(d int) (h []float32, step func(t int), last [][]float32)) []Tensor {
	dirs := len(r.directions)
	n := 1
	if r.sequence {
		n = r.steps
	}
	seq := c.buffer(n * r.batch * dirs * r.hidden)
	var finals [][]float32
	if c.err == nil && r.steps == 0 && !r.sequence {
		c.fail("x has no time steps")
	}
	if c.err != nil {
		return nil
	}
	for d, back := range r.directions {
		h, step, last := start(d)
		if c.err != nil {
			return nil
		}
		for i := range r.steps {
			if err := c.r.ctx.Err(); err != nil {
				return c.fail("the run was stopped: %v", err)
			}
			t := i
			if back {
				t = r.steps - 1 - i
			}
			step(t)
			at := 0
			switch {
			case r.sequence && dirs == 2:
				at = t // both halves in time order
			case r.sequence:
				at = i // in the order of processing
			case i < r.steps-1:
				continue
			}
			for b := range r.batch {
				copy(seq[((at*r.batch+b)*dirs+d)*r.hidden:][:r.hidden], h[b*r.hidden:])
			}
		}
		for s, v := range last {
			if len(finals) <= s {
				finals = append(finals, c.buffer(r.batch*dirs*r.hidden))
			}
			if c.err != nil {
				return nil
			}
			for b := range r.batch {
				copy(finals[s][(b*dirs+d)*r.hidden:][:r.hidden], v[b*r.hidden:])
			}
		}
	}
	width := int64(dirs * r.hidden)
	out := results(c.outFloats(0, []int64{int64(n), int64(r.batch), width}, seq))
	for s, v := range finals {
		out = append(out, c.outFloats(1+s, []int64{int64(r.batch), width}, v))
	}
	return out
}

// lstm has the gates i, f, o, z and one combined bias. Peepholes are [3*hidden] for i, f, o, where the peephole of o
// reads the new cell; clip bounds the cell after its update.
func lstm(c *call) []Tensor {
	r := c.recurrent()
	gate := c.activation(ir.ParamRecurrentActivation, "sigmoid")
	cellAct := c.activation(ir.ParamCellActivation, "tanh")
	act := c.activation(ir.ParamActivation, "tanh")
	limit := c.float(ir.ParamClip, math.Inf(1))
	if c.err != nil {
		return nil
	}
	return r.run(c, func(d int) ([]float32, func(int), [][]float32) {
		k, peephole := c.cell(d == 1, 4, r.in, r.hidden), ir.ParamPeephole
		if d == 1 {
			peephole = ir.ParamPeepholeBack
		}
		var peep []float32
		if _, ok := c.opt(peephole); ok {
			peep = c.vector(peephole, 3*r.hidden, 0)
		}
		h, cs := r.state(c, ir.ParamInitialH, d), r.state(c, ir.ParamInitialC, d)
		if c.err != nil {
			return nil, nil, nil
		}
		px := k.project(c, r.xs, r.steps*r.batch)
		n := r.hidden
		g := c.buffer(r.batch * 4 * n)
		if c.err != nil {
			return nil, nil, nil
		}
		return h, func(t int) {
			copy(g, px[t*r.batch*4*n:(t+1)*r.batch*4*n])
			c.gemm(matrix{data: h, rows: r.batch, cols: n}, matrix{data: k.whh, rows: 4 * n, cols: n, t: true}, g)
			for b := range r.batch {
				gb := g[b*4*n:]
				for j := range n {
					old := float64(cs[b*n+j])
					gi, gf, zo, z := float64(gb[j]), float64(gb[n+j]), float64(gb[2*n+j]), float64(gb[3*n+j])
					if peep != nil {
						gi += float64(peep[j]) * old
						gf += float64(peep[n+j]) * old
					}
					next := float64(gate(gf)*old) + float64(gate(gi)*cellAct(z))
					next = clip(next, -limit, limit)
					if peep != nil {
						zo += float64(peep[2*n+j]) * next
					}
					cs[b*n+j] = float32(next)
					h[b*n+j] = float32(gate(zo) * act(next))
				}
			}
		}, [][]float32{h, cs}
	})
}

// gru has the gates r, o, z. r multiplies the state before the product with
// W_ho, or with reset_after the product (plus its bias) after.
func gru(c *call) []Tensor {
	r := c.recurrent()
	gate := c.activation(ir.ParamRecurrentActivation, "sigmoid")
	act := c.activation(ir.ParamActivation, "tanh")
	after := c.bool(ir.ParamResetAfter, false)
	if c.err == nil && len(r.directions) != 1 {
		return c.fail("direction is bidirectional, which gru does not have")
	}
	if c.err != nil {
		return nil
	}
	return r.run(c, func(int) ([]float32, func(int), [][]float32) {
		n := r.hidden
		k := c.cell(false, 3, r.in, n)
		inBias := c.vector(ir.ParamInputBias, 3*n, 0)
		h := r.state(c, ir.ParamInitialH, 0)
		if c.err != nil {
			return nil, nil, nil
		}
		bias := k.bias
		k.bias = inBias // of the input product; the bias of the state is added below
		px := k.project(c, r.xs, r.steps*r.batch)
		g, rh, o := c.buffer(r.batch*3*n), c.buffer(r.batch*n), c.buffer(r.batch*n)
		if c.err != nil {
			return nil, nil, nil
		}
		who := matrix{data: k.whh[n*n : 2*n*n], rows: n, cols: n, t: true}
		return h, func(t int) {
			clear(g)
			c.gemm(matrix{data: h, rows: r.batch, cols: n}, matrix{data: k.whh, rows: 3 * n, cols: n, t: true}, g)
			p := px[t*r.batch*3*n:]
			sum := func(b, q, j int) float64 {
				return float64(p[b*3*n+q*n+j]) + float64(g[b*3*n+q*n+j]) + float64(bias[q*n+j])
			}
			for i := range rh {
				rh[i] = float32(gate(sum(i/n, 0, i%n)) * float64(h[i]))
			}
			if !after {
				clear(o)
				c.gemm(matrix{data: rh, rows: r.batch, cols: n}, who, o)
			}
			for b := range r.batch {
				for j := range n {
					i := b*n + j
					x := float64(p[b*3*n+n+j])
					if after {
						x += gate(sum(b, 0, j)) * (float64(g[b*3*n+n+j]) + float64(bias[n+j]))
					} else {
						x += float64(o[i]) + float64(bias[n+j])
					}
					z := gate(sum(b, 2, j))
					// rh is free again: the new state is kept there for now, since g is computed from the old one.
					rh[i] = float32(float64((1-z)*act(x)) + float64(z*float64(h[i])))
				}
			}
			copy(h, rh)
		}, [][]float32{h}
	})
}

// rnn has a single gate.
func rnn(c *call) []Tensor {
	r := c.recurrent()
	act := c.activation(ir.ParamActivation, "tanh")
	if c.err == nil && len(r.directions) != 1 {
		return c.fail("direction is bidirectional, which rnn does not have")
	}
	if c.err != nil {
		return nil
	}
	return r.run(c, func(int) ([]float32, func(int), [][]float32) {
		n := r.hidden
		k := c.cell(false, 1, r.in, n)
		h := r.state(c, ir.ParamInitialH, 0)
		if c.err != nil {
			return nil, nil, nil
		}
		px := k.project(c, r.xs, r.steps*r.batch)
		g := c.buffer(r.batch * n)
		if c.err != nil {
			return nil, nil, nil
		}
		return h, func(t int) {
			copy(g, px[t*r.batch*n:])
			c.gemm(matrix{data: h, rows: r.batch, cols: n}, matrix{data: k.whh, rows: n, cols: n, t: true}, g)
			for i, v := range g {
				h[i] = float32(act(float64(v)))
			}
		}, [][]float32{h}
	})
}
