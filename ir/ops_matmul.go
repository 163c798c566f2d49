package ir

import "github.com/zinc-compiler/zinc/numerics"

// Matrix products.
var (
	OpLinear = newOp("linear", Product, "x times the transpose of weight [D_out, D_in], plus bias.").
			err(numerics.Rounded).gate(A11Legacy)
	OpMatMul = newOp("matmul", Product, "Matrix product over the last two dimensions, batches broadcasting.").
			err(numerics.Rounded).gate(A11Legacy)
	OpScaledDotProductAttention = newOp("scaled_dot_product_attention", Product,
		"softmax(query key^T / sqrt(E) + mask) value.").err(numerics.Rounded).gate(A13)
	OpEinsum = newOp("einsum", Product, "Sum of products of two tensors, as the equation specifies.").
			err(numerics.Rounded)
)

// MatMul is the decoded arguments of matmul, after its rules for vectors: x is [Batch..., M, K] and
// y is [Batch..., K, N] after transposition.
type MatMul struct {
	TransposeX, TransposeY bool
	VectorX, VectorY       bool    // the operand had rank 1; its extra dimension is not in the result
	Batch                  []int64 // broadcast batch dimensions
	M, K, N                int64
}

// MatMulAttrs decodes matmul.
func MatMulAttrs(op *Op) (MatMul, error) {
	var m MatMul
	var err error
	if m.TransposeX, err = needBool(op, ParamTransposeX); err != nil {
		return m, err
	}
	if m.TransposeY, err = needBool(op, ParamTransposeY); err != nil {
		return m, err
	}
	x, y := op.Arg(ParamX).Type.Shape, op.Arg(ParamY).Type.Shape
	if len(x) == 0 || len(y) == 0 {
		return m, Rulef(ParamX, "matmul takes no scalars: x is %s, y is %s", ShapeString(x), ShapeString(y))
	}
	if len(x) == 1 {
		m.VectorX, x = true, []int64{1, x[0]}
		m.TransposeX = false
	}
	if len(y) == 1 {
		m.VectorY, y = true, []int64{y[0], 1}
		m.TransposeY = false
	}
	bx, by := x[:len(x)-2], y[:len(y)-2]
	m.M, m.K = x[len(x)-2], x[len(x)-1]
	if m.TransposeX {
		m.M, m.K = m.K, m.M
	}
	k := y[len(y)-2]
	m.N = y[len(y)-1]
	if m.TransposeY {
		k, m.N = m.N, k
	}
	if !agree(m.K, k) {
		return m, Rulef(ParamY, "x %s has inner dimension %d, y %s has %d (transpose_x = %t, transpose_y = %t)",
			ShapeString(op.Arg(ParamX).Type.Shape), m.K, ShapeString(op.Arg(ParamY).Type.Shape), k, m.TransposeX,
			m.TransposeY).and(ParamX)
	}
	m.K = known(m.K, k)
	var clash int
	var ok bool
	if m.Batch, clash, ok = Broadcast(bx, by); !ok {
		return m, Rulef(ParamY, "batch dimensions do not broadcast: x is %s, y is %s, %s at dimension %d",
			ShapeString(x), ShapeString(y), clashText(bx, by, clash), -clash-2).and(ParamX)
	}
	return m, nil
}

func inferMatMul(op *Op) ([]Type, error) {
	m, err := MatMulAttrs(op)
	if err != nil {
		return nil, err
	}
	shape := m.Batch
	if !m.VectorX {
		shape = append(shape, m.M)
	}
	if !m.VectorY {
		shape = append(shape, m.N)
	}
	// From iOS 17 on a constant may have another type than the other operand, which then determines the type of the
	// result.
	live := op.Arg(ParamX)
	if live.IsConst() && !op.Arg(ParamY).IsConst() {
		live = op.Arg(ParamY)
	}
	return one(TensorOf(live.Type.DType, shape...))
}

func inferLinear(op *Op) ([]Type, error) {
	x, w := op.Arg(ParamX).Type, op.Arg(ParamWeight).Type
	if k := x.Shape[x.Rank()-1]; !agree(k, w.Shape[1]) {
		return nil, Rulef(ParamWeight, "weight has %d input features, x has %d", w.Shape[1], k).and(ParamX)
	}
	if err := vectorOf(op, ParamBias, w.Shape[0], "the number of output features"); err != nil {
		return nil, err
	}
	shape := cloneShape(x.Shape)
	shape[len(shape)-1] = w.Shape[0]
	return one(x.WithShape(shape...))
}

func inferAttention(op *Op) ([]Type, error) {
	q, k, v := op.Arg(ParamQuery).Type, op.Arg(ParamKey).Type, op.Arg(ParamValue).Type
	r := q.Rank()
	for _, n := range []ParamName{ParamKey, ParamValue} {
		if err := rankIn(op, n, r, r); err != nil {
			return nil, err
		}
	}
	if !agree(q.Shape[r-1], k.Shape[r-1]) {
		return nil, Rulef(ParamKey, "key has embedding %d, query has %d", k.Shape[r-1], q.Shape[r-1]).and(ParamQuery)
	}
	if !agree(k.Shape[r-2], v.Shape[r-2]) {
		return nil, Rulef(ParamValue, "value has sequence length %d, key has %d", v.Shape[r-2],
			k.Shape[r-2]).and(ParamKey)
	}
	for _, o := range []struct {
		name ParamName
		t    Type
	}{{ParamKey, k}, {ParamValue, v}} {
		for i := 0; i < r-2; i++ {
			if !agree(q.Shape[i], o.t.Shape[i]) {
				return nil, Rulef(o.name, "dimension %d of %s is %d, of query %d", i, o.name, o.t.Shape[i],
					q.Shape[i]).and(ParamQuery)
			}
		}
	}
	scores := append(cloneShape(q.Shape[:r-1]), k.Shape[r-2])
	if m := op.Arg(ParamAttnMask); m != nil {
		s, _, ok := Broadcast(m.Type.Shape, scores)
		if !ok || len(s) != len(scores) {
			return nil, Rulef(ParamAttnMask, "attn_mask is %s, the scores are %s", ShapeString(m.Type.Shape),
				ShapeString(scores)).and(ParamQuery)
		}
	}
	shape := cloneShape(q.Shape)
	shape[r-1] = v.Shape[r-1]
	return one(q.WithShape(shape...))
}

// matmulForms are the forms of the operations above.
func matmulForms() (out forms) {
	linear := &OpDef{Operation: OpLinear,
		Params: params(in(ParamX, clsNum).as("T").rank(1, maxRank), in(ParamWeight, clsNum).as("T").fixed().rank(2, 2),
			in(ParamBias, clsNum).as("T").fixed().opt()), Infer: inferLinear}
	out.add(linear, linear.since("ios17", func(d *OpDef) { d.letter("U", ParamWeight, ParamBias) }))

	matmul := &OpDef{Operation: OpMatMul,
		Params: params(in(ParamX, clsNum).as("T"), in(ParamY, clsNum).as("T"), boolP(ParamTransposeX).or(false),
			boolP(ParamTransposeY).or(false)), Infer: inferMatMul}
	out.add(matmul, matmul.since("ios17", func(d *OpDef) { d.letter("U", ParamY) }))

	out.add(&OpDef{Operation: OpScaledDotProductAttention, Since: "ios18",
		Params: params(in(ParamQuery, clsFloat).as("T").rank(3, 5), in(ParamKey, clsFloat).as("T"),
			in(ParamValue, clsFloat).as("T"), in(ParamAttnMask, clsFloat|clsBool).opt()), Infer: inferAttention})

	out.add(&OpDef{Operation: OpEinsum,
		Params: params(in(ParamValues, clsNum).as("T").many(), stringP(ParamEquation)), Infer: inferEinsum})
	return out
}

// inferEinsum reads an equation of two operands without ellipses.
func inferEinsum(op *Op) ([]Type, error) {
	eq, err := needString(op, ParamEquation)
	if err != nil {
		return nil, err
	}
	terms, out, ok := ParseEinsum(eq)
	vs := op.ArgList(ParamValues)
	if !ok || len(terms) != len(vs) {
		return nil, Rulef(ParamEquation, "equation %q does not have %d operands and a result", eq, len(vs))
	}
	dims := map[byte]int64{}
	for i, t := range terms {
		if len(t) != vs[i].Type.Rank() {
			return nil, Rulef(ParamValues, "operand %d has rank %d, but equation %q has %d letters for it", i,
				vs[i].Type.Rank(),
				eq, len(t))
		}
		for j := range len(t) {
			d := vs[i].Type.Shape[j]
			have, seen := dims[t[j]]
			if seen && have != d && have != 1 && d != 1 && have >= 0 && d >= 0 {
				return nil, Rulef(ParamValues, "letter %c of %q is both %d and %d", t[j], eq, have, d)
			}
			if !seen || have == 1 || (have < 0 && d != 1) {
				dims[t[j]] = d
			}
		}
	}
	shape := make([]int64, len(out))
	for i := range len(out) {
		d, seen := dims[out[i]]
		if !seen {
			return nil, Rulef(ParamEquation, "letter %c of the result is in no operand of %q", out[i], eq)
		}
		shape[i] = d
	}
	return one(TensorOf(vs[0].Type.DType, shape...))
}

// ParseEinsum splits an equation such as "bhic,bjhc->bhij" into the letters of
// its operands and of its result.
func ParseEinsum(eq string) (operands []string, result string, ok bool) {
	var cur []byte
	arrow := false
	for i := 0; i < len(eq); i++ {
		switch c := eq[i]; {
		case c == ' ':
		case c == ',' && !arrow:
			operands = append(operands, string(cur))
			cur = nil
		case c == '-' && i+1 < len(eq) && eq[i+1] == '>' && !arrow:
			operands = append(operands, string(cur))
			cur, arrow = nil, true
			i++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			cur = append(cur, c)
		default:
			return nil, "", false
		}
	}
	return operands, string(cur), arrow
}
