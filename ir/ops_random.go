package ir

// Random numbers.
var (
	OpRandomBernoulli = &Operation{
		Name: "random_bernoulli", Class: Randomness, Gate: Never, Doc: "1 with probability prob, else 0.",
	}
	OpRandomNormal  = &Operation{Name: "random_normal", Class: Randomness, Gate: Never, Doc: "Normal deviates."}
	OpRandomUniform = &Operation{
		Name: "random_uniform", Class: Randomness, Gate: A15, Doc: "Uniform deviates from low to high.",
	}
	OpRandomCategorical = &Operation{
		Name: "random_categorical", Class: Randomness, Gate: Never,
		Doc: "Categories drawn with the weights in the last dimension of x.",
	}
)

func inferRandom(first string) func(op *Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		s := op.Arg("shape")
		t := FP32
		if v := op.Arg(first); v != nil {
			t = v.Type.DType
		}
		if s.Type.Rank() != 1 || s.Type.Shape[0] < 0 || s.Type.Shape[0] > maxRank {
			return nil, Rulef("shape", "shape is %s, must be a vector of at most %d", s.Type, maxRank)
		}
		v, ok := ArgInts(op, "shape")
		if !ok {
			v = unknownShape(int(s.Type.Shape[0]))
		}
		return one(TensorOf(t, v...))
	}
}

// randomForms are the forms of the operations above.
func randomForms() (out forms) {
	num := func(n string, v float64) Param { return in(n, clsFloat).as("T").fixed().or(v) }
	seed := intP("seed").or(int64(-1))
	shape := in("shape", clsInt32)
	out.add(
		&OpDef{Operation: OpRandomBernoulli, Effect: Random,
			Params: params(shape, num("prob", 0.5), seed), Infer: inferRandom("prob")},
		&OpDef{Operation: OpRandomNormal, Effect: Random,
			Params: params(shape, num("mean", 0), num("stddev", 1), seed), Infer: inferRandom("mean")},
		&OpDef{Operation: OpRandomUniform, Effect: Random,
			Params: params(shape, num("low", 0), num("high", 1), seed), Infer: inferRandom("low")},
		&OpDef{Operation: OpRandomCategorical, Effect: Random,
			Params: params(in("x", clsFloat), stringP("mode").or("logits"), intP("size").or(int64(1)), seed),
			Infer: func(op *Op) ([]Type, error) {
				if err := rankIn(op, "x", 1, maxRank); err != nil {
					return nil, err
				}
				n, err := needInt(op, "size")
				if err != nil {
					return nil, err
				}
				if n < 1 {
					return nil, Rulef("size", "size is %d, must be at least 1", n)
				}
				x := op.Arg("x").Type
				out := cloneShape(x.Shape)
				out[len(out)-1] = n
				return one(x.WithShape(out...))
			}})
	return out
}
