package ir

import "github.com/zinc-compiler/zinc/numerics"

// Recurrent layers.
var (
	OpLSTM = newOp("lstm", Recurrent,
		"Long short-term memory over the first dimension of x; gates i, f, o, z. Returns the outputs, the last h "+
			"and the last c.").err(numerics.Rounded).gate(Never)
	OpGRU = newOp("gru", Recurrent,
		"Gated recurrent unit over the first dimension of x; gates r, o, z. Returns the outputs and the last h.").
		err(numerics.Rounded).gate(Never)
	OpRNN = newOp("rnn", Recurrent,
		"Plain recurrent layer over the first dimension of x. Returns the outputs and the last h.").
		err(numerics.Rounded).gate(Never)
)

// recurrent is the shape rule of lstm, gru and rnn with the given number of
// gates. Weights are [gates*H, I] and [gates*H, H].
func recurrent(gates int64, cell bool) func(op *Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		dirs := []string{"forward", "reverse"}
		if cell {
			dirs = append(dirs, "bidirectional")
		}
		dir, err := needOneOf(op, ParamDirection, dirs...)
		if err != nil {
			return nil, err
		}
		seq, err := needBool(op, ParamOutputSequence)
		if err != nil {
			return nil, err
		}
		x := op.Arg(ParamX).Type
		weights := [][2]ParamName{{ParamWeightIH, ParamWeightHH}}
		width := int64(1)
		if dir == "bidirectional" {
			weights, width = append(weights, [2]ParamName{ParamWeightIHBack, ParamWeightHHBack}), 2
		}
		hidden := Unknown
		for _, w := range weights {
			h, err := gateWeights(op, w[0], w[1], gates, x.Shape[2])
			if err != nil {
				return nil, err
			}
			if !agree(hidden, h) {
				return nil, Rulef(w[1], "%s has hidden size %d, weight_hh has %d", w[1], h, hidden).and(ParamWeightHH)
			}
			hidden = h
		}
		for _, b := range []ParamName{ParamBias, ParamBiasBack, ParamInputBias} {
			if err := vectorOf(op, b, gates*hidden, "the gates times the hidden size"); err != nil {
				return nil, err
			}
		}
		for _, b := range []ParamName{ParamPeephole, ParamPeepholeBack} {
			if err := vectorOf(op, b, 3*hidden, "three times the hidden size"); err != nil {
				return nil, err
			}
		}
		state := []int64{x.Shape[1], width * hidden}
		for _, s := range []ParamName{ParamInitialH, ParamInitialC} {
			v := op.Arg(s)
			if v != nil && !v.Type.Fits(v.Type.WithShape(state...)) {
				return nil, Rulef(s, "%s is %s, but x and weight_hh require %s", s, ShapeString(v.Type.Shape),
					ShapeString(state)).and(ParamX)
			}
		}
		steps := int64(1)
		if seq {
			steps = x.Shape[0]
		}
		out := []Type{x.WithShape(steps, state[0], state[1]), x.WithShape(state...)}
		if cell {
			out = append(out, x.WithShape(state...))
		}
		return out, nil
	}
}

// gateWeights checks one pair of weights and returns the hidden size.
func gateWeights(op *Op, ih, hh ParamName, gates, input int64) (int64, error) {
	for _, n := range []ParamName{ih, hh} {
		if op.Arg(n) == nil {
			return 0, Rulef(n, "%s is missing for direction bidirectional", n)
		}
		if err := rankIn(op, n, 2, 2); err != nil {
			return 0, err
		}
		if !op.Arg(n).Type.Static() {
			return 0, Rulef(n, "%s is %s, its shape must be known", n, op.Arg(n).Type)
		}
	}
	a, b := op.Arg(ih).Type.Shape, op.Arg(hh).Type.Shape
	h := b[1]
	switch {
	case h < 1 || b[0] != gates*h:
		return 0, Rulef(hh, "%s is %s, must be [%d H, H]", hh, ShapeString(b), gates)
	case a[0] != gates*h:
		return 0, Rulef(ih, "%s has %d rows, %s has %d", ih, a[0], hh, b[0]).and(hh)
	case !agree(a[1], input):
		return 0, Rulef(ih, "%s has input size %d, x has %d", ih, a[1], input).and(ParamX)
	}
	return h, nil
}

// recurrentForms are the forms of the operations above.
func recurrentForms() (out forms) {
	weight := func(n ParamName) Param { return in(n, clsFloat).as("T").fixed() }
	head := func(second ...ParamName) []Param {
		ps := params(in(ParamX, clsFloat).as("T").rank(3, 3), in(ParamInitialH, clsFloat).as("T"))
		for _, n := range second {
			ps = append(ps, in(n, clsFloat).as("T"))
		}
		return append(ps, weight(ParamWeightIH), weight(ParamWeightHH), weight(ParamBias).opt())
	}
	mode := func(ps []Param, acts ...string) []Param {
		ps = append(ps, stringP(ParamDirection).or("forward"), boolP(ParamOutputSequence).or(false))
		for i := 0; i < len(acts); i += 2 {
			ps = append(ps, stringP(ParamName(acts[i])).or(acts[i+1]))
		}
		return ps
	}
	out.add(&OpDef{Operation: OpLSTM,
		Params: append(mode(append(head(ParamInitialC), weight(ParamPeephole).opt(), weight(ParamWeightIHBack).opt(),
			weight(ParamWeightHHBack).opt(), weight(ParamBiasBack).opt(), weight(ParamPeepholeBack).opt()),
			"recurrent_activation", "sigmoid", "cell_activation", "tanh", "activation", "tanh"), weight(ParamClip).
			opt()),
		Infer: recurrent(4, true)})
	gru := &OpDef{Operation: OpGRU,
		Params: mode(head(), "recurrent_activation", "sigmoid", "activation", "tanh"), Infer: recurrent(3, false)}
	out.add(gru, gru.since("ios18", func(d *OpDef) {
		d.Params = append(d.Params, boolP(ParamResetAfter).or(false), weight(ParamInputBias).opt())
	}))
	out.add(&OpDef{Operation: OpRNN,
		Params: mode(head(), "activation", "tanh"), Infer: recurrent(1, false)})
	return out
}
