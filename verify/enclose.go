package verify

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// arithmetic is the errors of the machine whose results are enclosed.
type arithmetic struct {
	// sum is the error of a sum of products as a part of the sum of their magnitudes.
	sum float64
	// constants is the relative error of constants that a pass may have computed, as factors of weights.
	constants float64
	// rounding returns the relative error of the result of an operation, besides the rounding when it is stored.
	rounding func(op *ir.Op) float64
	// tables returns the lookup tables that compute an operation.
	tables func(op *ir.Op) []lower.TableUse
	// literal reports that the CPU computes exactly what the program says: the interpreter is the CPU.
	literal bool
	// composed reports that passes may have written a function as several operations.
	composed bool
	// engine reports that operations placed on the engine have the errors of its tasks.
	engine bool
	// flush reports that products read subnormal fp16 operands as 0, and that they are infinite from MACLimit on.
	flush bool
	// unknown is the error of an operation without a rule, as a part of its result's scale; negative if it has none.
	unknown float64
}

const (
	// halfUnit is the largest relative error of a number rounded to fp16.
	halfUnit = 0x1p-11
	// tiny is the largest error of a number rounded to an fp16 subnormal.
	tiny = 0x1p-25
)

// encloser computes enclosures of the results of operations from those of their operands.
type encloser struct {
	kernels
	arithmetic
}

// statement is one operation with the enclosures of its operands.
type statement struct {
	*encloser
	op   *ir.Op
	args map[*ir.Value]*span
}

// operand returns the enclosure of an argument, or nil if it is absent.
func (s *statement) operand(p ir.ParamName) *span { return s.of(s.op.Arg(p)) }

func (s *statement) of(v *ir.Value) *span {
	switch {
	case v == nil:
		return nil
	case v.IsConst():
		return &span{t: interp.FromConst(v.Const)}
	}
	return s.args[v]
}

// results returns the enclosures of the operation's results. What the program stores as fp16 overflows as fp16 does; a
// machine that does not store it may not overflow, so the other end stays.
func (e *encloser) results(op *ir.Op, args map[*ir.Value]*span) ([]*span, error) {
	out, err := e.unlimited(op, args)
	for i, s := range out {
		if op.Results[i].Type.DType == ir.FP16 && s.t.Type.DType == ir.FP32 {
			s.limit()
		}
	}
	return out, err
}

// limit makes numbers infinite that fp16 cannot represent.
func (s *span) limit() {
	v := s.numbers()
	over := false
	for i, y := range v {
		if y-y == 0 && math.IsInf(half(y), 0) {
			v[i], over = float32(half(y)), true
		}
	}
	if over {
		if s.lo == nil && !s.lost {
			s.lo, s.hi = s.numbers(), s.numbers()
		}
		s.t = floats(s.t.Type.Shape, v)
	}
	for i := range s.lo {
		if math.IsInf(half(s.hi[i]), 1) {
			s.hi[i] = float32(math.Inf(1))
		}
		if math.IsInf(half(s.lo[i]), -1) {
			s.lo[i] = float32(math.Inf(-1))
		}
	}
}

// unlimited returns the enclosures in numbers without a limit.
func (e *encloser) unlimited(op *ir.Op, args map[*ir.Value]*span) ([]*span, error) {
	s := &statement{e, op, args}
	exact, lost := true, false
	for _, v := range free(op) {
		if givesShape(op, v) {
			continue
		}
		exact = exact && args[v].exact()
		lost = lost || args[v].lost
	}
	rule := rules[op.Def.Operation]
	if rule == nil && ir.CurveOf(op) != nil {
		rule = curve
	}
	cpu := op.Place.Unit != ir.Engine && exact && e.unknown < 0
	if plain(op) || cpu && (e.literal || rule == nil) {
		ts, err := e.declared(op, numerics.IEEE, s.asDeclared)
		// Passes may have changed what is inside blocks.
		return spansOf(ts, !exact || e.composed && len(op.Blocks) > 0), err
	}
	ts, err := e.wide(op, s.middles())
	if err != nil {
		return nil, err
	}
	if lost {
		return spansOf(ts, true), nil
	}
	switch {
	case rule != nil && !(e.composed && ir.CurveOf(op) != nil && len(passes.CompositionsOf(op.Def.Operation)) > 0):
	case rule != nil: // several roundings
		return spansOf(ts, true), nil
	case op.Def.Error == numerics.Movement && s.certain():
		rule = steps()
	case exact && e.unknown >= 0 && op.Results[0].Type.DType.IsFloat():
		return modelled(ts, e.unknown), nil
	default:
		return spansOf(ts, !exact || op.Def.Error != numerics.Movement && s.isEngine()), nil
	}
	out, err := rule(s, ts)
	for i := range out {
		if out[i].lo != nil && !out[i].lost {
			r := e.rounding(op)
			floor := 0.0
			if r > 0 {
				floor = 2 * tiny
			}
			out[i].widen(func(_ int, y float64) float64 { return (r+fuzz)*math.Abs(y) + floor })
		}
	}
	return out, err
}

// plain reports whether an operation has no enclosure: it has blocks, or values other than tensors of numbers, or makes
// a constant.
func plain(op *ir.Op) bool {
	return len(op.Blocks) > 0 || !tensors(op) || op.Def.Class == ir.Compressed
}

// tensors reports whether all values of an operation are tensors of numbers.
func tensors(op *ir.Op) bool {
	for _, v := range op.Results {
		if v.Type.Kind != ir.Tensor || v.Type.DType == ir.String {
			return false
		}
	}
	for _, v := range free(op) {
		if v.Type.Kind != ir.Tensor || v.Type.DType == ir.String {
			return false
		}
	}
	return true
}

// givesShape reports whether only the shape of an operand matters.
func givesShape(op *ir.Op, v *ir.Value) bool {
	return op.Is(ir.OpShape) || op.Is(ir.OpFillLike, ir.OpReshapeLike) && v != op.Arg(ir.ParamX) &&
		v != op.Arg(ir.ParamValue)
}

// certain reports whether all operands that are not floats are exact, so that no element can come from another place.
func (s *statement) certain() bool {
	for _, v := range free(s.op) {
		if !v.Type.DType.IsFloat() && !givesShape(s.op, v) && !s.args[v].exact() {
			return false
		}
	}
	return true
}

// asDeclared returns the value of an operand without errors, in the type that the program declares.
func (s *statement) asDeclared(v *ir.Value) interp.Tensor {
	t := s.args[v].t
	if d := v.Type.DType; t.Type.Kind == ir.Tensor && t.Type.DType != d && narrow(d) {
		if n, err := interp.FromFloats(d, t.Floats32(), t.Type.Shape...); err == nil {
			return n
		}
	}
	return t
}

// middles returns the values of all operands without errors.
func (s *statement) middles() map[*ir.Value]interp.Tensor {
	m := map[*ir.Value]interp.Tensor{}
	for v, a := range s.args {
		m[v] = a.t
	}
	return m
}

func spansOf(ts []interp.Tensor, lost bool) []*span {
	out := make([]*span, len(ts))
	for i, t := range ts {
		out[i] = &span{t: t, lost: lost}
	}
	return out
}

// modelled encloses results within a part of their scale.
func modelled(ts []interp.Tensor, part float64) []*span {
	out := make([]*span, len(ts))
	for i, t := range ts {
		most := 0.0
		for _, y := range t.Floats32() {
			if y-y == 0 {
				most = max(most, math.Abs(float64(y)))
			}
		}
		out[i] = around(t, func(int, float64) float64 { return part * most })
	}
	return out
}

// A rule returns enclosures of the results; ts are the results without errors.
type rule func(s *statement, ts []interp.Tensor) ([]*span, error)

// rules has the operations that are neither curves nor monotone movements.
var rules map[*ir.Operation]rule

func init() {
	rules = map[*ir.Operation]rule{
		ir.OpAdd: sum(false), ir.OpSub: sum(true), ir.OpMul: product, ir.OpRealDiv: quotient,
		ir.OpConv: dot, ir.OpConvTranspose: dot, ir.OpLinear: dot, ir.OpMatMul: dot, ir.OpEinsum: dot,
		ir.OpReduceSum: total, ir.OpReduceMean: total, ir.OpAvgPool: total, ir.OpCumsum: total,
		ir.OpReduceL1Norm: total, ir.OpReduceSumSquare: squares,
		ir.OpSoftmax: softmax, ir.OpLayerNorm: layerNorm, ir.OpBatchNorm: batchNorm,
		ir.OpCast: cast, ir.OpSelect: choose, ir.OpEqual: equal, ir.OpNotEqual: equal,
		ir.OpGreater: steps(ir.ParamY), ir.OpGreaterEqual: steps(ir.ParamY),
		ir.OpLess: steps(ir.ParamX), ir.OpLessEqual: steps(ir.ParamX), ir.OpLogicalNot: steps(ir.ParamX),
		ir.OpLogicalAnd: steps(), ir.OpLogicalOr: steps(),
		ir.OpReduceArgmax: pick, ir.OpReduceArgmin: pick, ir.OpArgsort: pick, ir.OpTopK: pick,
	}
}

// steps is the rule of operations that are monotone in every operand and round nothing: falling in the named operands,
// rising in the others. Their results are between those of the ends.
func steps(falling ...ir.ParamName) rule {
	return func(s *statement, ts []interp.Tensor) ([]*span, error) {
		low, high, any := map[*ir.Value]interp.Tensor{}, map[*ir.Value]interp.Tensor{}, false
		s.op.Operands(func(p *ir.Param, v *ir.Value) {
			a := s.of(v)
			if v.IsConst() {
				return
			}
			low[v], high[v] = a.t, a.t
			if a.exact() || a.lost { // only the shape of what is lost matters
				return
			}
			any = true
			low[v], high[v] = like(a.t, a.lo), like(a.t, a.hi)
			if slices.Contains(falling, p.Name) {
				low[v], high[v] = high[v], low[v]
			}
		})
		if !any {
			return spansOf(ts, false), nil
		}
		return s.between(ts, low, high)
	}
}

// between returns the enclosures between the results for each of the operands.
func (s *statement) between(ts []interp.Tensor, operands ...map[*ir.Value]interp.Tensor) ([]*span, error) {
	out := make([]*span, len(ts))
	for i, t := range ts {
		v := t.Floats32()
		out[i] = &span{t: t, lo: v, hi: append([]float32(nil), v...)}
	}
	for _, with := range operands {
		ends, err := s.wide(s.op, with)
		if err != nil {
			return nil, err
		}
		for i := range out {
			out[i].include(ends[i].Floats32())
		}
	}
	return out, nil
}

// include extends the enclosure to other values; one that is NaN leaves no limit.
func (s *span) include(vs []float32) {
	for i, v := range vs {
		if v != v {
			s.lo[i], s.hi[i] = float32(math.Inf(-1)), float32(math.Inf(1))
			continue
		}
		s.lo[i], s.hi[i] = min(s.lo[i], v), max(s.hi[i], v)
	}
}

// inexact returns whether any operand has an enclosure.
func (s *statement) inexact() bool {
	for _, a := range s.args {
		if !a.exact() {
			return true
		}
	}
	return false
}

// floatResult reports whether the operation computes in floats, so that it rounds.
func (s *statement) floatResult() bool { return s.op.Results[0].Type.DType.IsFloat() }

// sum is the rule of sums and differences.
func sum(minus bool) rule {
	ends := steps()
	if minus {
		ends = steps(ir.ParamY)
	}
	return func(s *statement, ts []interp.Tensor) ([]*span, error) {
		out, err := ends(s, ts)
		if err != nil || !s.floatResult() {
			return out, err
		}
		// Where a sum cancels, the constants that passes computed err by what the terms are worth.
		if s.constants > 0 {
			x, y := s.terms(ts[0])
			out[0].widen(func(i int, _ float64) float64 { return s.constants * (abs(x[i]) + abs(y[i])) })
		}
		out[0].widen(func(_ int, y float64) float64 { return fuzz * math.Abs(y) })
		return out, nil
	}
}

// terms returns the operands x and y, broadcast to the result.
func (s *statement) terms(t interp.Tensor) (x, y []float32) {
	zero := floats(nil, []float32{0})
	one := func(p ir.ParamName, other ir.ParamName) []float32 {
		m := s.middles()
		m[s.op.Arg(other)] = zero
		if v := s.op.Arg(p); v == s.op.Arg(other) {
			return in32(s.of(v).t).Floats32()
		}
		ts, err := s.wide(s.op, m)
		if err != nil || ts[0].Elems() != t.Elems() {
			return t.Floats32()
		}
		return ts[0].Floats32()
	}
	return one(ir.ParamX, ir.ParamY), one(ir.ParamY, ir.ParamX)
}

func abs(x float32) float64 { return math.Abs(float64(x)) }

// product is the rule of the product of two tensors: the extremes are at the corners.
func product(s *statement, ts []interp.Tensor) ([]*span, error) {
	out := spansOf(ts, false)
	if s.inexact() {
		var err error
		if out, err = s.corners(ts); err != nil {
			return nil, err
		}
	}
	if s.floatResult() {
		out[0].widen(func(_ int, y float64) float64 { return (fuzz + s.constants) * math.Abs(y) })
	}
	return out, nil
}

// corners returns the enclosure between the results of all combinations of the ends of x and y.
func (s *statement) corners(ts []interp.Tensor) ([]*span, error) {
	x, y := s.op.Arg(ir.ParamX), s.op.Arg(ir.ParamY)
	end := func(v *ir.Value) [2]interp.Tensor {
		a := s.of(v)
		lo, hi := a.ends()
		return [2]interp.Tensor{like(a.t, lo), like(a.t, hi)}
	}
	var all []map[*ir.Value]interp.Tensor
	for _, p := range end(x) {
		for _, q := range end(y) {
			all = append(all, map[*ir.Value]interp.Tensor{x: p, y: q})
		}
	}
	return s.between(ts, all...)
}

// quotient is the rule of x / y. The engine multiplies by the reciprocal of y, from a table or, of a constant, rounded.
func quotient(s *statement, ts []interp.Tensor) ([]*span, error) {
	if !s.floatResult() {
		return spansOf(ts, s.inexact()), nil
	}
	out := spansOf(ts, false)
	if s.inexact() {
		lo, hi := s.operand(ir.ParamY).ends()
		for i := range lo {
			if !(lo[i] > 0 || hi[i] < 0) {
				return spansOf(ts, true), nil
			}
		}
		var err error
		if out, err = s.corners(ts); err != nil {
			return nil, err
		}
	}
	rel := s.relative() + s.constants + fuzz
	if s.isEngine() {
		// The reciprocal is rounded to fp16.
		rel += halfUnit
	}
	out[0].widen(func(_ int, y float64) float64 { return rel * math.Abs(y) })
	return out, nil
}

// relative is the sum of the relative errors of an operation's tables.
func (s *statement) relative() float64 {
	r := 0.0
	for _, t := range s.tables(s.op) {
		r += max(0, t.Rel)
	}
	return r
}

// magnitudes returns |x| and the largest magnitude of each element of an operand.
func (a *span) magnitudes() (t interp.Tensor, most []float32) {
	v, r := in32(a.t).Floats32(), a.radius()
	most = make([]float32, len(v))
	for i := range v {
		v[i] = float32(abs(v[i]))
		most[i] = v[i]
		if r != nil {
			most[i] += r[i]
		}
	}
	return floats(a.t.Type.Shape, v), most
}

// spreads returns part*|x| plus the error of x: its radius and, if the engine flushes, a subnormal x itself.
func (s *statement) spreads(a *span, part float64) interp.Tensor {
	v, r := in32(a.t).Floats32(), a.radius()
	for i, x := range v {
		y := abs(x)
		e := 0.0
		if r != nil {
			e = float64(r[i])
		}
		if s.flush && y-e < numerics.MinNormalFP16 {
			e += min(y+e, numerics.MinNormalFP16)
		}
		v[i] = up(part*(y+e) + e)
	}
	return floats(a.t.Type.Shape, v)
}

// dot is the rule of sums of products with a weight or of two operands. With the errors e and f of factors a and b,
//
//	|error| <= sum part*|a b| + |a| f + |b| e + e f
//
// which is at most the same product of part*(|a|+e) + e and |b| + f + f/part. The bias errs as a constant.
func dot(s *statement, ts []interp.Tensor) ([]*span, error) {
	one, two := ir.ParamX, ir.ParamWeight
	if s.op.Is(ir.OpMatMul, ir.OpEinsum) {
		two = ir.ParamY
	}
	x, w := s.op.Arg(one), s.op.Arg(two)
	if s.op.Is(ir.OpEinsum) {
		vs := s.op.ArgList(ir.ParamValues)
		if len(vs) != 2 {
			return spansOf(ts, true), nil
		}
		x, w = vs[0], vs[1]
	}
	part := s.sum + s.constants + float64(s.count(x, w, ts[0]))*0x1p-23
	b := s.of(w)
	weight := s.spreads(&span{t: b.t, lo: b.lo, hi: b.hi}, 0) // its error alone
	e := weight.Floats32()
	for i, y := range in32(b.t).Floats32() {
		e[i] = up(abs(y) + float64(e[i])*(1+1/part))
	}
	with := map[*ir.Value]interp.Tensor{x: s.spreads(s.of(x), part)}
	if x == w {
		return spansOf(ts, true), nil
	}
	with[w] = floats(b.t.Type.Shape, e)
	if v := s.op.Arg(ir.ParamBias); v != nil {
		with[v] = s.spreads(s.of(v), s.sum+s.constants) // one more term
	}
	rs, err := s.wide(s.op, with)
	if err != nil {
		return nil, err
	}
	r := rs[0].Floats32()
	out := around(ts[0], func(i int, y float64) float64 { return float64(r[i])*(1+fuzz) + fuzz*math.Abs(y) })
	if s.flush && s.isEngine() {
		out.overflow(numerics.MACLimit)
	}
	return []*span{out}, nil
}

// overflow extends ends from a limit on to infinity.
func (s *span) overflow(limit float32) {
	for i := range s.lo {
		if half(s.hi[i]) >= float64(limit) {
			s.hi[i] = float32(math.Inf(1))
		}
		if half(s.lo[i]) <= -float64(limit) {
			s.lo[i] = float32(math.Inf(-1))
		}
	}
}

// count returns the terms of each sum: an upper limit, for the rounding of the interpreter's own sums.
func (s *statement) count(x, w *ir.Value, t interp.Tensor) int64 {
	n := s.of(w).t.Type.Elems()
	if sh := s.of(w).t.Type.Shape; s.op.Is(ir.OpConv, ir.OpLinear) && len(sh) > 0 && sh[0] > 0 {
		return n / sh[0]
	}
	if sh := s.of(x).t.Type.Shape; s.op.Is(ir.OpMatMul) && len(sh) > 1 {
		return max(sh[len(sh)-1], sh[len(sh)-2])
	}
	return min(n, s.of(x).t.Type.Elems())
}

// total is the rule of sums and means: a sum of products with one factor. Partial sums and the factor of a mean are
// rounded to fp16.
func total(s *statement, ts []interp.Tensor) ([]*span, error) {
	if !s.floatResult() {
		return spansOf(ts, s.inexact()), nil
	}
	x := s.op.Arg(ir.ParamX)
	part := s.sum + s.constants + 3*halfUnit*s.onEngine() + float64(s.of(x).t.Type.Elems())/
		max(1, float64(ts[0].Elems()))*0x1p-23
	rs, err := s.wide(s.op, map[*ir.Value]interp.Tensor{x: s.spreads(s.of(x), part)})
	if err != nil {
		return nil, err
	}
	r := rs[0].Floats32()
	return []*span{around(ts[0], func(i int, y float64) float64 { return float64(r[i]) + fuzz*math.Abs(y) })}, nil
}

// onEngine is 1 for operations on the engine and 0 for others.
func (s *statement) onEngine() float64 {
	if s.isEngine() {
		return 1
	}
	return 0
}

// isEngine reports whether the engine computes the operation.
func (s *statement) isEngine() bool { return s.engine && s.op.Place.Unit == ir.Engine }

// squares is the rule of sums of squares, which are rounded before they are added.
func squares(s *statement, ts []interp.Tensor) ([]*span, error) {
	if !s.floatResult() {
		return spansOf(ts, s.inexact()), nil
	}
	x := s.op.Arg(ir.ParamX)
	part := s.sum + 3*halfUnit*s.onEngine() + float64(s.of(x).t.Type.Elems())*0x1p-23
	_, most := s.of(x).magnitudes()
	rs, err := s.wide(s.op, map[*ir.Value]interp.Tensor{x: floats(s.of(x).t.Type.Shape, most)})
	if err != nil {
		return nil, err
	}
	r := rs[0].Floats32()
	return []*span{around(ts[0], func(i int, y float64) float64 {
		return float64(r[i])*(1+part) - y + float64(numerics.MinNormalFP16)*s.onEngine()
	})}, nil
}

// curve is the rule of functions of one number: between turns they are monotone.
func curve(s *statement, ts []interp.Tensor) ([]*span, error) {
	k, v := ir.CurveOf(s.op), s.op.Arg(ir.ParamX)
	if v == nil || v.IsConst() {
		return spansOf(ts, true), nil
	}
	a := s.of(v)
	params, known := curveParams(s.op, k)
	out := spansOf(ts, false)
	tables := s.tables(s.op)
	if len(tables) > 0 && s.rounding(v.Def) > 0 && !a.lost {
		// The sum may be rounded before it enters the table.
		b := *a
		b.widen(func(_ int, y float64) float64 { return halfUnit*math.Abs(y) + tiny })
		a = &b
	}
	if !a.exact() {
		switch {
		case s.op.Is(ir.OpSin, ir.OpCos):
			r := a.radius()
			out = []*span{around(ts[0], func(i int, _ float64) float64 { return float64(r[i]) })}
		case k.Channels || !known || k.Turns == nil && !s.oneSide(a, params):
			return spansOf(ts, true), nil
		default:
			var err error
			if out, err = steps()(s.replaced(v, a), ts); err != nil {
				return nil, err
			}
			if k.Turns != nil {
				out[0].turn(a, k, params)
			}
		}
	}
	if s.floatResult() && (s.op.Def.Error != numerics.Movement) {
		out[0].widen(func(_ int, y float64) float64 { return fuzz * math.Abs(y) })
	}
	for _, t := range tables {
		if !s.tabulated(out[0], a, t, k, params) {
			return spansOf(ts, true), nil
		}
	}
	return out, nil
}

// replaced returns the statement with another enclosure of an operand.
func (s *statement) replaced(v *ir.Value, a *span) *statement {
	c := *s
	c.args = map[*ir.Value]*span{}
	for w, b := range s.args {
		c.args[w] = b
	}
	c.args[v] = a
	return &c
}

// curveParams returns the constant parameters of a curve.
func curveParams(op *ir.Op, k *ir.Curve) (ps []float64, ok bool) {
	for _, p := range k.Params {
		x, ok := ir.ArgFloat(op, p)
		if !ok {
			return nil, false
		}
		ps = append(ps, x)
	}
	return ps, true
}

// oneSide reports whether no enclosure of 1/(x+epsilon) contains the pole.
func (s *statement) oneSide(a *span, params []float64) bool {
	if !s.op.Is(ir.OpInverse) || len(params) != 1 {
		return false
	}
	for i := range a.lo {
		if !(float64(a.lo[i])+params[0] > 0 || float64(a.hi[i])+params[0] < 0) {
			return false
		}
	}
	return true
}

// turn includes the values at the turns of a curve that are inside the enclosure of its operand.
func (s *span) turn(a *span, k *ir.Curve, params []float64) {
	for _, t := range k.Turns(params) {
		y := float32(k.F(t, params))
		for i := range s.lo {
			if float64(a.lo[i]) <= t && t <= float64(a.hi[i]) {
				s.lo[i], s.hi[i] = min(s.lo[i], y), max(s.hi[i], y)
			}
		}
	}
}

// tabulated adds the signed error of a lookup table near the operand a. It reports false if the table states none
// there.
func (s *statement) tabulated(y, a *span, t lower.TableUse, k *ir.Curve, params []float64) bool {
	shift, slack, part := 0.0, 0.0, 0.0
	if t.Table.Scale != td.HalfOne {
		// The argument is a multiple of x, rounded or not.
		part = halfUnit
	}
	if k.Shift && len(params) == 1 && params[0] != 0 {
		// The engine adds the shift as an fp16 number, and the sum is rounded to the twelve bits of its first stage.
		// What it rounds is the argument of the function by which the table is indexed.
		shift = half(float32(params[0]))
		slack, part = math.Abs(shift-params[0]), halfUnit
	}
	lo, hi := a.ends()
	ylo, yhi := y.ends()
	out := &span{t: y.t, lo: append([]float32(nil), ylo...), hi: append([]float32(nil), yhi...)}
	for i := range lo {
		if v := lo[i]; v != v || out.lo[i] != out.lo[i] || lo[i]-lo[i] != 0 {
			continue
		}
		from, to := float64(lo[i])+shift, float64(hi[i])+shift
		if part > 0 {
			from, to = from-slack-part*math.Abs(from), to+slack+part*math.Abs(to)
			for _, x := range [2]float64{from, to} {
				if f := k.F(x-shift, params); f == f {
					out.lo[i], out.hi[i] = min(out.lo[i], down(f)), max(out.hi[i], up(f))
				}
			}
		}
		least, greatest, ok := t.Signed.Between(from, to)
		if !ok {
			least, greatest = -t.Abs, t.Abs
			if math.IsInf(t.Abs, 0) || t.Abs != t.Abs {
				return false
			}
		}
		out.lo[i], out.hi[i] = down(float64(out.lo[i])+min(least, 0)), up(float64(out.hi[i])+max(greatest, 0))
	}
	*y = *out
	return true
}

// cast is the rule of conversions. One between floats is the identity here: what is stored is rounded when it is
// compared, and what is not stored by rounding.
func cast(s *statement, ts []interp.Tensor) ([]*span, error) {
	x := s.operand(ir.ParamX)
	from, to := s.op.Arg(ir.ParamX).Type.DType, s.op.Results[0].Type.DType
	if !to.IsFloat() {
		return steps()(s, ts)
	}
	out := &span{t: ts[0], lo: x.lo, hi: x.hi}
	if narrow(to) && !narrow(from) && out.lo != nil {
		out.lo, out.hi = append([]float32(nil), x.lo...), append([]float32(nil), x.hi...)
		out.widen(func(_ int, y float64) float64 { return halfUnit*math.Abs(y) + tiny })
	}
	return []*span{out}, nil
}

// choose is the rule of select: either operand where the condition may be both.
func choose(s *statement, ts []interp.Tensor) ([]*span, error) {
	if !s.inexact() {
		return spansOf(ts, false), nil
	}
	cond := s.op.Arg(ir.ParamCond)
	var all []map[*ir.Value]interp.Tensor
	for end := range 2 {
		for side := range 2 {
			m := s.middles()
			pick := func(v *ir.Value, k int) {
				if a := s.of(v); v != nil && !v.IsConst() && !a.exact() {
					m[v] = like(a.t, [2][]float32{a.lo, a.hi}[k])
				}
			}
			pick(s.op.Arg(ir.ParamA), end)
			pick(s.op.Arg(ir.ParamB), end)
			pick(cond, side)
			all = append(all, m)
		}
	}
	return s.between(ts, all...)
}

// equal is the rule of comparisons for equality: enclosures that overlap may be equal or not.
func equal(s *statement, ts []interp.Tensor) ([]*span, error) {
	if !s.inexact() {
		return spansOf(ts, false), nil
	}
	// x < y and x > y, each for the ends that make it least likely, decide where the two cannot be equal.
	never, err := s.apart(ts[0])
	if err != nil {
		return nil, err
	}
	v := ts[0].Floats32()
	out := &span{t: ts[0], lo: make([]float32, len(v)), hi: make([]float32, len(v))}
	for i := range v {
		if never[i] {
			out.lo[i], out.hi[i] = v[i], v[i]
			continue
		}
		out.hi[i] = 1
	}
	return []*span{out}, nil
}

// apart reports for each element of a comparison whether the enclosures of its operands are disjoint.
func (s *statement) apart(t interp.Tensor) ([]bool, error) {
	x, y := s.op.Arg(ir.ParamX), s.op.Arg(ir.ParamY)
	never := make([]bool, t.Elems())
	for _, flip := range [2]bool{false, true} {
		less := *s.op
		less.Def = ir.Forms(ir.OpLess.Name)[0]
		a, b := s.of(x), s.of(y)
		_, ahi := a.ends()
		blo, _ := b.ends()
		if flip {
			ahi, _ = a.ends()
			_, blo = b.ends()
			less.Def = ir.Forms(ir.OpGreater.Name)[0]
		}
		if x == y {
			return never, nil
		}
		ts, err := s.wide(&less, map[*ir.Value]interp.Tensor{x: like(a.t, ahi), y: like(b.t, blo)})
		if err != nil {
			return nil, err
		}
		for i, v := range ts[0].Floats32() {
			never[i] = never[i] || v != 0
		}
	}
	return never, nil
}

// pick is the rule of operations whose results are places: a place is known only if the operand is. The elements that
// topk returns are between those of the ends.
func pick(s *statement, ts []interp.Tensor) ([]*span, error) {
	out, err := steps()(s, ts)
	if err != nil || !s.inexact() {
		return out, err
	}
	for i, v := range s.op.Results {
		if !v.Type.DType.IsFloat() {
			out[i] = &span{t: ts[i], lost: true}
		}
	}
	return out, nil
}
