package verify

import (
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
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
	// literal reports that the CPU computes exactly as the interpreter does.
	literal bool
	// decomposed reports that passes may have written a function as several operations.
	decomposed bool
	// engine reports that operations placed on the engine have the errors of its tasks.
	engine bool
	// flush reports that products read subnormal fp16 operands as 0, and that they are infinite from MACLimit on.
	flush bool
	// fixed reports that products are added in fixed point, that infinities are numbers, and that results are rounded
	// with halves away from zero.
	fixed bool
	// unknown is the error of an operation without a rule, as a part of its result's scale; negative if it has none.
	unknown float64
	// bare reports that only results without errors are computed.
	bare bool
}

const (
	// halfUnit is the largest relative error of a number rounded to fp16.
	halfUnit = 0x1p-11
	// tiny is the largest error of a number rounded to an fp16 subnormal.
	tiny = 0x1p-25
)

// encloser computes enclosures of results from enclosures of operands.
type encloser struct {
	kernels
	arithmetic
}

// statement is one operation with the enclosures of its operands.
type statement struct {
	*encloser
	op   *ir.Op
	args map[*ir.Value]*enclosure
	rel  float64 // the relative error of the result that the rule leaves out of its enclosure
}

// operand returns the enclosure of an argument, or nil if it is absent.
func (s *statement) operand(p ir.ParamName) *enclosure { return s.of(s.op.Arg(p)) }

func (s *statement) of(v *ir.Value) *enclosure {
	switch {
	case v == nil:
		return nil
	case v.IsConst():
		return &enclosure{t: interp.FromConst(v.Const)}
	}
	return s.args[v]
}

// enclose returns the enclosures of the operation's results. One that is large is computed later, in pieces, where that
// is possible; all others are computed now.
func (e *encloser) enclose(op *ir.Op, args map[*ir.Value]*enclosure) ([]*enclosure, error) {
	s, err := delay(e, &e.kernels, op, args)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return []*enclosure{s}, nil
	}
	return e.results(op, args)
}

// results returns the enclosures of the operation's results from operands that are computed. What the program stores as
// fp16 overflows as fp16 does; a machine that does not store it may not overflow, so the other end stays.
func (e *encloser) results(op *ir.Op, args map[*ir.Value]*enclosure) ([]*enclosure, error) {
	if err := room(op, args); err != nil {
		return nil, err
	}
	fixed := e.fixed && op.Place.Unit == ir.Engine
	read := args
	if fixed && op.Def.Class != ir.Movement {
		read = readInfinities(args)
	}
	out, err := e.unlimited(op, read)
	mayNaN := false
	for _, v := range free(op) {
		a := args[v]
		mayNaN = mayNaN || a.mayNaN || op.Place.Rule == passes.RuleDecomposed && a.infinite()
	}
	folded := e.foldedTerms(op)
	for i, s := range out {
		s.mayNaN = mayNaN
		if folded > 0 && !s.unknown {
			s.widen(func(int, float64) float64 { return float64(folded+1) * termUnits })
		}
		if op.Results[i].Type.DType == ir.FP16 && s.t.Type.DType == ir.FP32 {
			if fixed {
				s.halvesAway()
			}
			s.limit()
		}
		moved := op.Def.Class == ir.Movement && op.Place.Rule == passes.RuleDecomposed
		switch { // by a product with a matrix that selects
		case !e.decomposed || !moved || s.unknown:
		case e.flush:
			s.flushed()
		case e.fixed && s.t.Type.DType.IsFloat():
			s.widen(func(int, float64) float64 { return 2 * termUnits })
		}
	}
	return out, err
}

// Bytes of memory that an element of a result and of an operand takes while a statement is enclosed: the number in fp32
// and float64 bounds, each with a copy; and a copy in fp32.
const (
	resultBytes  = 40
	operandBytes = 8
)

// room returns an error if there is no memory for the enclosures of a statement.
func room(op *ir.Op, args map[*ir.Value]*enclosure) error {
	n := int64(0)
	for _, v := range op.Results {
		n += resultBytes * max(v.Type.Elems(), 0)
	}
	for _, s := range args {
		n += operandBytes * elements(s.t)
	}
	if err := memlimit.Room(n); err != nil {
		return &interp.Error{Op: op.Def.Name, Name: op.Results[0].Name, Pos: op.Pos, Msg: err.Error(), Err: err}
	}
	return nil
}

// elements returns the number of elements of a tensor, or of all tensors of a list, whose type may leave extents open.
func elements(t interp.Tensor) int64 {
	if t.Type.Kind != ir.List {
		return max(t.Type.Elems(), 0)
	}
	n := int64(0)
	for _, e := range t.List {
		n += elements(e)
	}
	return n
}

// unlimited returns the enclosures in numbers without a limit.
func (e *encloser) unlimited(op *ir.Op, args map[*ir.Value]*enclosure) ([]*enclosure, error) {
	s := &statement{encloser: e, op: op, args: args}
	exact, unknown, undefined := true, false, false
	for _, v := range free(op) {
		if givesShape(op, v) {
			continue
		}
		exact = exact && args[v].exact()
		unknown = unknown || args[v].unknown
		undefined = undefined || op.Def.Class != ir.Movement && args[v].undefined()
	}
	rule := rules[op.Def.Operation]
	if rule == nil && ir.CurveOf(op) != nil {
		rule = curve
	}
	cpu := op.Place.Unit != ir.Engine && exact && e.unknown < 0
	if plain(op) || cpu && (e.literal || rule == nil) {
		ts, err := e.declared(op, numerics.IEEE, s.asDeclared)
		// Passes may have changed what is inside blocks.
		return enclosuresOf(ts, !exact || e.decomposed && (len(op.Blocks) > 0 || undefined)), err
	}
	ts, err := e.wide(op, s.middles())
	if err != nil {
		return nil, err
	}
	if e.bare {
		return enclosuresOf(ts, false), nil
	}
	if unknown || undefined {
		return enclosuresOf(ts, true), nil
	}
	switch {
	case rule != nil && !(e.decomposed && ir.CurveOf(op) != nil && len(passes.DecompositionsOf(op.Def.Operation)) > 0):
	case rule != nil: // several roundings
		return enclosuresOf(ts, true), nil
	case op.Def.Error == numerics.Movement && s.certain():
		rule = steps()
	case exact && e.unknown >= 0 && op.Is(ir.OpScaledDotProductAttention):
		rule = attended
	case exact && e.unknown >= 0 && op.Results[0].Type.DType.IsFloat():
		return modelled(ts, e.unknown), nil
	default:
		return enclosuresOf(ts, !exact || op.Def.Error != numerics.Movement && s.isEngine()), nil
	}
	out, err := rule(s, ts)
	for i := range out {
		if (out[i].lo != nil || s.rel > 0) && !out[i].unknown && op.Results[i].Type.DType.IsFloat() {
			r := e.rounding(op)
			floor := 0.0
			if r > 0 {
				floor = 2 * tiny
			}
			out[i].scale((1+s.rel)*(1+r+fuzz)-1, floor)
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
	if d := v.Type.DType; t.Type.Kind == ir.Tensor && t.Type.DType != d && computedInFP32(d) {
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

func enclosuresOf(ts []interp.Tensor, unknown bool) []*enclosure {
	out := make([]*enclosure, len(ts))
	for i, t := range ts {
		out[i] = &enclosure{t: t, unknown: unknown}
	}
	return out
}

// modelled encloses results within a part of their scale.
func modelled(ts []interp.Tensor, part float64) []*enclosure {
	out := make([]*enclosure, len(ts))
	for i, t := range ts {
		most := largestOf(t)
		out[i] = around(t, func(int, float64) float64 { return part * most })
	}
	return out
}
