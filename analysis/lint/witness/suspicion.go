package witness

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
)

// Suspicion is a statement whose ranges reach a limit: what a witness is looked for.
type Suspicion struct {
	Kind string // the reason for the suspicion, which is the same for the statement cut out
	Op   *ir.Op
	// Value is the value that meets the limit, Region the operations that a run of the statement alone needs.
	Value  *ir.Value
	Region []*ir.Op
	Goals  []Goal // are tried in order
	// ANE allows the interpreter's mode ane as a witness if the simulator shows nothing: it has rules that the
	// simulator lacks. Exactly means that any difference of the statement alone counts, since its result should be
	// exact.
	ANE, Exactly bool

	// Limit is the magnitude of Value at which the limit is met, 0 if it is not a magnitude; Gap then returns the
	// factor by which the recorded ranges would have to grow.
	Limit float64
	Gap   func(seen func(v *ir.Value) interval.Interval) float64

	// Need are the values that Reached reads. Reached reports whether a run of the interpreter met the limit, and with
	// which number. A suspicion without Reached is only searched for in cuts.
	Need    []*ir.Value
	Reached func(t Trace) (at float64, ok bool)
	// Evidence judges the operands and the engine's result for the statement alone; if it is nil, outputs are compared
	// with those in fp32.
	Evidence func(t Trace) *Evidence
}

// has reports whether an operation is the suspicion's or in its region.
func (p *Suspicion) has(op *ir.Op) bool {
	return op != nil && (op == p.Op || slices.Contains(p.Region, op))
}

// Goal is the number that an input should bring a value to: the highest (Direction 1), the lowest (Direction -1), or
// one near Number.
type Goal struct {
	Value     *ir.Value
	Direction float64
	Near      float64 // NaN for none
	Peaks     *Peaks  // nil if unknown
}

// Most is the goal of the greatest value.
func Most(v *ir.Value, h *Peaks) Goal {
	return Goal{Value: v, Direction: 1, Near: math.NaN(), Peaks: h}
}

// Least is the goal of the least value.
func Least(v *ir.Value, h *Peaks) Goal {
	return Goal{Value: v, Direction: -1, Near: math.NaN(), Peaks: h}
}

// Near is the goal of a value near x.
func Near(v *ir.Value, x float64) Goal { return Goal{Value: v, Direction: 1, Near: x} }

// Peaks are the rows of a constant product that attain the greatest and the least value.
type Peaks struct {
	Axis   int // of the result
	Hi, Lo int64
}

// CompareGrowth orders factors of growth, the smallest first; 0 means unknown and comes last.
func CompareGrowth[N float64 | verify.Number](a, b N) int {
	if (a == 0) != (b == 0) {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

var inf = math.Inf(1)

// Unreshaped returns the value from which operations that only reshape or transpose computed v.
func Unreshaped(v *ir.Value) *ir.Value {
	for range 16 {
		if v == nil || v.Def == nil {
			return v
		}
		switch v.Def.Def.Operation {
		case ir.OpReshape, ir.OpExpandDims, ir.OpSqueeze, ir.OpIdentity, ir.OpTranspose:
			v = v.Def.Arg(ir.ParamX)
		default:
			return v
		}
	}
	return v
}

// Generated begins the names of values that passes create.
const Generated = "%"

// ValueLabel returns the name of a value in the source: its own, or if a pass generated that, the name of its
// statement.
func ValueLabel(v *ir.Value) string {
	switch {
	case !strings.HasPrefix(v.Name, Generated):
	case v.Const != nil:
		return "a constant"
	case v.Def != nil && v.Def.Name != "":
		return v.Def.Name
	case v.Def != nil:
		return "the result of " + v.Def.Def.Name
	}
	return v.Name
}
