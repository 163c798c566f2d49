package witness

import (
	"cmp"
	"math"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lint/interval"
	"github.com/zinc-compiler/zinc/verify"
)

// Suspicion is a statement whose ranges reach a limit: what a witness is looked for.
type Suspicion struct {
	Kind string // what is suspected: a statement that is cut out is suspected of the same
	Op   *ir.Op
	// Value is the one that meets the limit, Region the operations that a run of the statement alone needs.
	Value  *ir.Value
	Region []*ir.Op
	Goals  []Goal // are tried in order
	// ANE allows the interpreter's mode ane as a witness where the simulator shows nothing: it has rules that the
	// simulator lacks. Exactly says that any difference of the statement alone counts: it is meant to be exact.
	ANE, Exactly bool

	// Cliff is the magnitude of Value at which the limit is met, 0 if it is not a magnitude; Gap
	// then returns the factor by which the ranges that were seen would have to grow.
	Cliff float64
	Gap   func(seen func(v *ir.Value) interval.Interval) float64

	// Need are the values that Reached reads; Reached reports whether a run of the interpreter met the limit, and the
	// number with which it did. A suspicion without Reached is only searched for alone.
	Need    []*ir.Value
	Reached func(t Trace) (at float64, ok bool)
	// Evidence judges by the operands and by what the engine returned for the statement alone; nil where outputs are
	// compared with those in fp32.
	Evidence func(t Trace) *Evidence
}

// Goal is where an input should bring a value: as high as possible (Direction 1), as low as possible (Direction -1), or
// near a number.
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

// CompareGrowth orders factors of growth, the least first; 0 means an unknown one, which comes last.
func CompareGrowth[N float64 | verify.Number](a, b N) int {
	if (a == 0) != (b == 0) {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

var inf = math.Inf(1)

// Unreshaped returns the value that operations which only reshape or transpose made v from.
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

// Generated begins the names of values that passes make.
const Generated = "%"

// ValueLabel is what a value is called in the source: its name, or if a pass has generated that, the name of its
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
