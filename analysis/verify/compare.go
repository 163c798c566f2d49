package verify

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Number is a float64 that is encoded in JSON as a string if it is infinite or NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsInf(f, 0) || math.IsNaN(f) {
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return json.Marshal(float64(n))
}

// Verdict is what a comparison shows.
type Verdict string

// Verdicts.
const (
	Pass       Verdict = "pass"        // within a bound of at most MaxPercent
	Fail       Verdict = "FAIL"        // beyond a bound
	CannotTell Verdict = "cannot tell" // within a bound that is too wide to show anything
)

// Allowed is the largest difference that an element may have end to end: the bound, or where that shows nothing, a part
// of the scale from which it would.
func (o *Output) Allowed() float64 {
	if o.By == EndToEnd {
		return float64(o.Bound)
	}
	return MaxPercent / 100.0 * float64(o.Scale)
}

// Ways to verify an output.
const (
	EndToEnd   = "end to end" // by the bound of the whole program
	Statements = "statements" // by the bounds of all statements that the output depends on
	Equal      = "equality"   // it is the reference's, to the last bit
	SameCode   = "same code"  // the interpreter computes all of it in both runs; only the reference does not round
)

// Output is the comparison of one output.
type Output struct {
	Name    string `json:"name"`    // name of the output
	Type    string `json:"type"`    // type of the output
	MaxAbs  Number `json:"max_abs"` // largest difference of two elements
	MaxULP  Number `json:"max_ulp"` // the same in units in the last place of fp16 at Scale; for integers in 1s
	Percent Number `json:"percent"` // MaxAbs in per cent of Scale
	Scale   Number `json:"scale"`   // largest magnitude in the reference
	// By says which bound decides: the bound of the output, end to end; or the bound of the statement whose bound is
	// widest in per cent of its result's scale. BoundULP and BoundPercent refer to the scale of that result.
	By           string `json:"by"`
	Bound        Number `json:"bound"`         // largest difference that the bound allows
	BoundULP     Number `json:"bound_ulp"`     // as MaxULP
	BoundPercent Number `json:"bound_percent"` // bound in per cent, as percent
	// Statement is the statement, of those that the output depends on, whose difference is the largest part of its
	// bound, Used. It is empty if no statement rounds.
	Statement string  `json:"statement,omitempty"`
	Used      Number  `json:"used"`    // largest part of its bound that a statement uses
	Verdict   Verdict `json:"verdict"` // pass, FAIL or cannot tell
	Pass      bool    `json:"pass"`    // Verdict is Pass
	// Proved reports that the bound alone cannot tell, and that a proof shows that all that is left is rounding.
	Proved bool `json:"proved,omitempty"`
	// Choice is the first element before an output that is over MaxPercent off which is another index, truth value or
	// whole number than in the reference.
	Choice *Choice `json:"choice,omitempty"`
	// NotFinite counts the elements of the reference that are infinite or NaN, and FirstNotFinite is the first of them.
	// Infinities must be equal. An output that is NaN in the reference, or depends on a statement that is, cannot be
	// verified.
	NotFinite      int     `json:"not_finite,omitempty"`
	FirstNotFinite int     `json:"first_not_finite,omitempty"` // first of the elements that are not finite, row major
	Worst          Element `json:"worst"`                      // where MaxAbs is, or the first element beyond the bound
	Why            string  `json:"why,omitempty"`              // why the verdict is not pass
	Cause          Cause   `json:"cause,omitempty"`            // kind of the reason, if the verdict is cannot tell

	fit   fit
	doubt *doubt // why the bounds cannot tell; nil if they do
}

// Element is one element of an output in both runs.
type Element struct {
	Index int    `json:"index"` // row major
	Got   Number `json:"got"`   // element of the simulator's result
	Want  Number `json:"want"`  // element of the reference's result
}

// values returns the elements as float64, exact except for 64-bit integers.
func values(t interp.Tensor) []float64 { return t.Const().Floats() }

// distance returns the absolute difference of two elements. It is 0 for equal
// infinities and for two NaNs, and infinite if only one is NaN or they differ and one
// is infinite.
func distance(a, b float64) float64 {
	switch d := math.Abs(a - b); {
	case a == b || a != a && b != b:
		return 0
	case d <= math.MaxFloat64:
		return d
	}
	return math.Inf(1)
}

// units returns a difference in units in the last place of fp16 at a magnitude: the engine stores fp16.
func units(d, at float64) Number { return Number(d / float64(numerics.ULP16(float32(at)))) }

// output returns the comparison of an output: got with its enclosure end to end, and the statements before it.
func (x *call) output(name string, v *ir.Value, got interp.Tensor, end *enclosure, exact bool) (Output, error) {
	if !got.Type.Equal(end.t.Type) && (got.Type.Elems() != end.t.Type.Elems() || !computedInFP32(got.Type.DType)) {
		return Output{}, fmt.Errorf("output %s: the pair returns %s, the source %s", name, got.Type, end.t.Type)
	}
	if exact {
		end = &enclosure{t: end.t}
	}
	f := end.compare(got)
	d := got.Type.DType
	out := Output{
		Name: name, Type: got.Type.String(), MaxAbs: Number(f.maxAbs), Scale: Number(f.scale),
		Percent: Number(percent(f.maxAbs, f.scale)), By: EndToEnd, Bound: Number(f.bound),
		BoundPercent: Number(percent(f.bound, f.scale)), Verdict: Pass,
		NotFinite: f.notFinite, FirstNotFinite: f.first, Worst: f.worst, fit: f,
	}
	bounded, scale := d, f.scale
	before := x.summaryOf(v)
	if s := before.used; s != nil {
		out.Statement, out.Used = s.Name, s.Used
	}
	departs := d.IsFloat() && end.departs(got, f.scale)
	if departs || !tells(f.maxAbs, f.scale) {
		out.Choice = x.choice(name)
	}
	if end.unknown || !tells(f.bound, f.scale) {
		out.By, out.Bound, out.BoundPercent = Statements, 0, 0
		if s := before.widest; s != nil {
			out.Bound, out.BoundPercent, scale, bounded = s.Bound, s.BoundPercent, float64(s.Scale), s.typ
		}
		out.Why = before.why()
		if departs && out.Choice != nil {
			end, err := x.followed()
			if err != nil {
				return Output{}, err
			}
			departs = end[name] == nil || end[name].departs(got, f.scale)
		}
		if out.Why == "" && departs {
			out.Why = fmt.Sprintf("each statement is within its bound, but together they differ by %.3g %% of scale",
				float64(out.Percent))
		}
	}
	out.MaxULP, out.BoundULP = Number(f.maxAbs), out.Bound
	if d.IsFloat() {
		out.MaxULP = units(f.maxAbs, f.scale)
	}
	if bounded.IsFloat() {
		out.BoundULP = units(float64(out.Bound), scale)
	}
	if f.nan > 0 {
		out.Why = f.undefined()
	}
	switch {
	case !f.pass:
		out.Verdict = Fail
		out.Why = fmt.Sprintf("element %d is %g, reference %g", f.worst.Index, float64(f.worst.Got),
			float64(f.worst.Want))
	case before.wrong != nil:
		s := before.wrong
		w := s.fit.worst
		out.Verdict = Fail
		out.Why = fmt.Sprintf("statement %s: element %d is %g, want %g within %.3g", s.Name, w.Index,
			float64(w.Got), float64(w.Want), s.fit.limit)
	case out.By == Statements && before.cpu:
		out.By, out.Why = SameCode, ""
	case out.Why != "" && f.equal():
		out.By, out.Bound, out.BoundULP, out.BoundPercent, out.Why = Equal, 0, 0, 0, ""
	case out.Why != "":
		out.Verdict = CannotTell
		out.doubt = x.doubts(name, v, &f, departs)
		if out.Cause = out.doubt.cause; f.nan > 0 {
			out.Cause = Undefined
		}
	}
	out.Pass = out.Verdict == Pass
	return out, nil
}
