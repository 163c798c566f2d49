package ir

// Random numbers.
var (
	OpRandomBernoulli   = newOp("random_bernoulli", Randomness, "1 with probability prob, else 0.").gate(Never)
	OpRandomNormal      = newOp("random_normal", Randomness, "Normal deviates.").gate(Never)
	OpRandomUniform     = newOp("random_uniform", Randomness, "Uniform deviates from low to high.").gate(A15)
	OpRandomCategorical = newOp("random_categorical", Randomness,
		"Categories drawn with the weights in the last dimension of x.").gate(Never)
)

func inferRandom(first ParamName) func(op *Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		s := op.Arg(ParamShape)
		t := FP32
		if v := op.Arg(first); v != nil {
			t = v.Type.DType
		}
		if s.Type.Rank() != 1 || s.Type.Shape[0] < 0 || s.Type.Shape[0] > maxRank {
			return nil, Rulef(ParamShape, "shape is %s, must be a vector of at most %d", s.Type, maxRank)
		}
		v, ok := ArgInts(op, ParamShape)
		if !ok {
			v = unknownShape(int(s.Type.Shape[0]))
		}
		return one(TensorOf(t, v...))
	}
}

// randomForms are the forms of the operations above.
func randomForms() (out forms) {
	num := func(n ParamName, v float64) Param { return in(n, clsFloat).as("T").fixed().or(v) }
	seed := intP(ParamSeed).or(int64(-1))
	shape := in(ParamShape, clsInt32)
	out.add(
		&OpDef{Operation: OpRandomBernoulli, Effect: Random,
			Params: params(shape, num(ParamProb, 0.5), seed), Infer: inferRandom(ParamProb)},
		&OpDef{Operation: OpRandomNormal, Effect: Random,
			Params: params(shape, num(ParamMean, 0), num(ParamStddev, 1), seed), Infer: inferRandom(ParamMean)},
		&OpDef{Operation: OpRandomUniform, Effect: Random,
			Params: params(shape, num(ParamLow, 0), num(ParamHigh, 1), seed), Infer: inferRandom(ParamLow)},
		&OpDef{Operation: OpRandomCategorical, Effect: Random,
			Params: params(in(ParamX, clsFloat).rank(1, maxRank), stringP(ParamMode).or("logits"),
				intP(ParamSize).or(int64(1)), seed),
			Infer: func(op *Op) ([]Type, error) {
				n, err := needInt(op, ParamSize)
				if err != nil {
					return nil, err
				}
				if n < 1 {
					return nil, Rulef(ParamSize, "size is %d, must be at least 1", n)
				}
				x := op.Arg(ParamX).Type
				out := cloneShape(x.Shape)
				out[len(out)-1] = n
				return one(x.WithShape(out...))
			}})
	return out
}
