package passes

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// splitBatchNorm turns a batch norm with known statistics into a factor and an addend per channel, computed in double
// precision and rounded once. It returns nil where one of them is not finite: the product and the addend are then
// infinite, or cancel to NaN, where the difference from the mean has a value.
func splitBatchNorm(s *State, r *rewriter, op *ir.Op) (*ir.Value, error) {
	x := op.Arg(ir.ParamX)
	mean, variance := op.Arg(ir.ParamMean), op.Arg(ir.ParamVariance)
	eps, ok := ir.ArgFloat(op, ir.ParamEpsilon)
	if !ok || !mean.IsConst() || !variance.IsConst() || !known(x) || x.Type.Rank() < 3 {
		return nil, nil
	}
	at := func(name ir.ParamName, i int64, absent float64) (float64, bool) {
		v := op.Arg(name)
		if v == nil {
			return absent, true
		}
		if !v.IsConst() {
			return 0, false
		}
		return v.Const.Float(i), true
	}
	n := mean.Type.Elems()
	for _, name := range []ir.ParamName{ir.ParamVariance, ir.ParamGamma, ir.ParamBeta} {
		if v := op.Arg(name); v != nil && v.Type.Elems() != n {
			return nil, nil
		}
	}
	shape := slices.Repeat([]int64{1}, x.Type.Rank())
	shape[1] = n
	t := ir.TensorOf(x.Type.DType, shape...)
	scale, bias := make([]float64, n), make([]float64, n)
	for i := range n {
		g, ok1 := at(ir.ParamGamma, i, 1)
		b, ok2 := at(ir.ParamBeta, i, 0)
		if !ok1 || !ok2 {
			return nil, nil
		}
		scale[i] = g / math.Sqrt(variance.Const.Float(i)+eps)
		bias[i] = b - float64(mean.Const.Float(i)*scale[i])
	}
	factor, addend := finite(t, scale), finite(t, bias)
	if factor == nil || addend == nil {
		return nil, nil
	}
	s.absorb(mean, variance, op.Arg(ir.ParamGamma), op.Arg(ir.ParamBeta), op.Arg(ir.ParamEpsilon))
	mul, err := s.makeOp(op, ir.OpMul, arg(ir.ParamX, x), arg(ir.ParamY, s.constant(factor, op.Pos)))
	if err != nil {
		return nil, err
	}
	r.keep(mul)
	add, err := s.makeOp(op, ir.OpAdd, arg(ir.ParamX, mul.Results[0]), arg(ir.ParamY, s.constant(addend, op.Pos)))
	if err != nil {
		return nil, err
	}
	r.keep(add)
	return add.Results[0], nil
}

// finite returns a constant of the numbers, rounded to the element type, or nil if one of them is then not finite.
func finite(t ir.Type, vs []float64) *ir.Const {
	c := &ir.Const{Type: t}
	for i, v := range vs {
		c.Data = ir.AppendElem(c.Data, t.DType, v)
		if r := c.Float(int64(i)); r-r != 0 {
			return nil
		}
	}
	return c
}

// acceptBatchNorm reports how the engine computes the factor and the addend of a batch norm, or why it does not; no is
// the refusal of the batch norm itself.
func (s *State) acceptBatchNorm(op *ir.Op, no error) (target.Acceptance, error) {
	defer func(was []*ir.Origin) { s.origins.absorbed = was }(s.origins.absorbed)
	r := &rewriter{s: s}
	if v, err := splitBatchNorm(s, r, op); v == nil || err != nil {
		return target.Acceptance{}, no
	}
	var a target.Acceptance
	for _, part := range r.out {
		of, err := s.Accept(part)
		if err != nil {
			return a, err
		}
		a.Rule = of.Rule
		a.Tasks += of.Tasks
		a.Nanos += of.Nanos
	}
	return a, nil
}

// product describes the dimensions of the outputs of a product with a constant: the weight's parameter, the weight
// dimension that counts outputs, and the result dimension that does.
type product struct {
	weight ir.ParamName
	out    func(op *ir.Op) (weightDim, resultDim int)
}

var products = map[*ir.Operation]product{
	ir.OpConv:   {ir.ParamWeight, func(*ir.Op) (int, int) { return 0, 1 }},
	ir.OpLinear: {ir.ParamWeight, func(op *ir.Op) (int, int) { return 0, op.Results[0].Type.Rank() - 1 }},
}

// foldScaleBias folds mul and add (and sub of a constant) by one constant per output channel into the conv or linear
// before them, if nothing else reads that product.
func foldScaleBias(s *State) error {
	n := uses(s.Func)
	return s.rewrite(func(r *rewriter, op *ir.Op) error {
		v, err := s.foldInto(op, n)
		if err != nil {
			return err
		}
		if v == nil {
			r.keep(op)
			return nil
		}
		// The product now defines this operation's result.
		p := v.Def
		old := op.Results[0]
		p.Results[0] = old
		old.Def = p
		return nil
	})
}

// foldInto rewrites the product before op in place and returns its result, or nil.
func (s *State) foldInto(op *ir.Op, n *ir.ValueMap[int]) (*ir.Value, error) {
	switch op.Def.Operation {
	case ir.OpMul, ir.OpAdd, ir.OpSub:
	default:
		return nil, nil
	}
	x, c := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	if x.IsConst() && !op.Is(ir.OpSub) {
		x, c = c, x
	}
	if !c.IsConst() || x.IsConst() || x.Def == nil || n.Get(x) != 1 || !x.Type.Equal(op.Results[0].Type) || !known(x) {
		return nil, nil
	}
	p := x.Def
	if p.Is(ir.OpMatMul) && !op.Is(ir.OpMul) {
		s.asLinear(p, c)
	}
	row, ok := products[p.Def.Operation]
	if !ok || !p.Arg(row.weight).IsConst() {
		return nil, nil
	}
	if b := p.Arg(ir.ParamBias); b != nil && !b.IsConst() {
		return nil, nil
	}
	wdim, rdim := row.out(p)
	w := p.Arg(row.weight)
	outputs := w.Type.Shape[wdim]
	each, ok := perChannel(c, x.Type.Shape, rdim, outputs)
	if !ok {
		return nil, nil
	}
	t := w.Type.DType
	bias := make([]float64, outputs)
	if b := p.Arg(ir.ParamBias); b != nil {
		for i := range bias {
			bias[i] = b.Const.Float(min(int64(i), b.Type.Elems()-1))
		}
	}
	if outputs == 0 {
		return nil, nil
	}
	for i := range bias {
		switch op.Def.Operation {
		case ir.OpMul:
			bias[i] *= each(int64(i))
		case ir.OpAdd:
			bias[i] += each(int64(i))
		case ir.OpSub:
			bias[i] -= each(int64(i))
		}
	}
	sum := finite(ir.TensorOf(t, outputs), bias)
	if sum == nil {
		return nil, nil
	}
	if op.Is(ir.OpMul) {
		product := s.Memory.scale(w.Const, c.Const, each)
		if product == nil {
			return nil, nil
		}
		scaled := s.constant(product, w.Pos)
		s.derive(w, scaled)
		s.cameFrom(scaled, w, c, op.Results[0])
		p.SetArg(row.weight, scaled)
		if p.Arg(ir.ParamBias) == nil {
			return s.foldedOnto(p, op), nil
		}
	}
	folded := s.constant(sum, op.Pos)
	s.cameFrom(folded, p.Arg(ir.ParamBias), c, op.Results[0])
	p.SetArg(ir.ParamBias, folded)
	return s.foldedOnto(p, op), nil
}

// MaxLost is the part of the weights of an output, by magnitude, that folding a factor into them may lose, the
// smallest of them: a quarter of what rounding the weights may change.
const MaxLost = 0x1p-13

// loses reports whether weights of fp16, each row multiplied by a factor, lose more than that: products read subnormal
// weights as 0 (docs/numerics.md), and finite weights may become infinite.
func loses(w, scaled *ir.Const, factor func(row int64) float64) bool {
	if scaled.Type.DType != ir.FP16 || scaled.Assumed != nil {
		return false
	}
	n := 2 * int(w.Elems()/w.Type.Shape[0])
	for row := range w.Type.Shape[0] {
		at := n * int(row)
		if rowLoses(w.Data[at:at+n], scaled.Data[at:at+n], math.Abs(factor(row))) {
			return true
		}
	}
	return false
}

// Bits of fp16 without the sign: of the least normal number and of infinity; and the number of units of the last place
// of subnormal numbers in one.
const (
	leastNormal = 0x400
	infinite    = 0x7c00
	halfUnits   = 1 << 24
)

// rowLoses is loses for one row of packed fp16 and the magnitude of its factor. It looks at four numbers at a time for
// those that are lost, which are few, and adds up only as many of the others as it must.
func rowLoses(w, scaled []byte, factor float64) bool {
	const exponents, one, top = 0x7c007c007c007c00, 0x0400040004000400, 0x8000800080008000
	magnitude := func(b []byte) uint16 { return binary.LittleEndian.Uint16(b) &^ 0x8000 }
	lost, unbounded := 0.0, false // in halfUnits
	for i := 0; i < len(scaled); {
		if i+8 <= len(scaled) {
			e := binary.LittleEndian.Uint64(scaled[i:]) & exponents
			// The top bit of a number is set where the exponent is zero, and where it is the largest.
			if (top-e|(e+one))&top == 0 {
				i += 8
				continue
			}
		}
		for end := min(i+8, len(scaled)); i < end; i += 2 {
			switch x, y := magnitude(w[i:]), magnitude(scaled[i:]); {
			case y == infinite && x < infinite:
				return true
			case y >= infinite:
				unbounded = true // so is the sum, or it is no number
			case y < leastNormal && x >= leastNormal && x < infinite:
				lost += units(x) * factor
			}
		}
	}
	if lost == 0 || unbounded {
		return false
	}
	kept := 0.0
	for i := 0; i < len(scaled); i += 2 {
		if y := magnitude(scaled[i:]); y >= leastNormal {
			if kept += units(y); lost <= MaxLost*(kept+lost) {
				return false
			}
		}
	}
	return lost > MaxLost*(kept+lost)
}

// units returns a normal magnitude in halfUnits.
func units(bits uint16) float64 { return float64(uint64(bits&0x3ff|0x400) << (bits>>10 - 1)) }

// asLinear turns a matrix product with a constant matrix, after which the constant c is added column by column, into a
// linear, which has a bias. It leaves p alone if that does not fit.
func (s *State) asLinear(p *ir.Op, c *ir.Value) {
	x, y := p.Arg(ir.ParamX), p.Arg(ir.ParamY)
	tx, _ := ir.ArgBool(p, ir.ParamTransposeX)
	ty, _ := ir.ArgBool(p, ir.ParamTransposeY)
	if tx || x.IsConst() || !y.IsConst() || y.Type.Rank() != 2 || y.Type.DType.Bits()%8 != 0 {
		return
	}
	out := p.Results[0].Type
	n := out.Shape[out.Rank()-1]
	if _, ok := perChannel(c, out.Shape, out.Rank()-1, n); !ok {
		return
	}
	w := y
	if !ty {
		w = s.constant(transposed(y.Const), y.Pos)
		s.cameFrom(w, y)
	}
	l, err := s.makeOp(p, ir.OpLinear, arg(ir.ParamX, x), arg(ir.ParamWeight, w))
	if err != nil || !l.Results[0].Type.Equal(out) {
		return
	}
	p.Def, p.Args = l.Def, l.Args
}

// transposed returns a constant matrix with its dimensions exchanged.
func transposed(c *ir.Const) *ir.Const {
	rows, cols := c.Type.Shape[0], c.Type.Shape[1]
	size := int64(c.Type.DType.Bits() / 8)
	data := make([]byte, len(c.Data))
	for r := range rows {
		for k := range cols {
			copy(data[(k*rows+r)*size:][:size], c.Data[(r*cols+k)*size:])
		}
	}
	t := &ir.Const{Type: c.Type.WithShape(cols, rows), Data: data, Blob: c.Blob}
	return t.PackedAs(c)
}

// perChannel returns the constant's value for each output if it varies along no other dimension of the result.
func perChannel(c *ir.Value, shape []int64, dim int, outputs int64) (func(i int64) float64, bool) {
	cs := c.Type.Shape
	if c.Type.Elems() == 1 {
		v := c.Const.Float(0)
		return func(int64) float64 { return v }, true
	}
	for i, d := range cs {
		at := len(shape) - len(cs) + i
		if d != 1 && at != dim {
			return nil, false
		}
	}
	if c.Type.Elems() != outputs {
		return nil, false
	}
	return c.Const.Float, true
}
