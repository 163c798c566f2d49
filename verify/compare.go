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
)

// Output is the comparison of one output.
type Output struct {
	Name    string `json:"name"`    // name of the output
	Type    string `json:"type"`    // type of the output
	MaxAbs  Number `json:"max_abs"` // largest difference of two elements
	MaxULP  Number `json:"max_ulp"` // the same in units in the last place of fp16 at Scale; for integers in 1s
	Percent Number `json:"percent"` // MaxAbs in per cent of Scale
	Scale   Number `json:"scale"`   // largest magnitude in the reference
	// By says which bound decides. Bound is that of the output, end to end; or that of the statement with the widest
	// one in per cent of the scale of its own result, which BoundULP and BoundPercent then refer to.
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
	// NotFinite counts the elements of the reference that are infinite or NaN, and FirstNotFinite is the first of them.
	// Infinities must be equal. An output that is NaN in the reference, or depends on a statement that is, cannot be
	// verified.
	NotFinite      int     `json:"not_finite,omitempty"`
	FirstNotFinite int     `json:"first_not_finite,omitempty"` // first of the elements that are not finite, row major
	Worst          Element `json:"worst"`                      // where MaxAbs is, or the first element beyond the bound
	Why            string  `json:"why,omitempty"`              // why the verdict is not pass

	fit fit
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
func (x *call) output(name string, v *ir.Value, got interp.Tensor, end *span, exact bool) (Output, error) {
	if !got.Type.Equal(end.t.Type) && (got.Type.Elems() != end.t.Type.Elems() || !narrow(got.Type.DType)) {
		return Output{}, fmt.Errorf("output %s: the pair returns %s, the source %s", name, got.Type, end.t.Type)
	}
	if exact {
		end = &span{t: end.t}
	}
	f := end.compare(got)
	d := got.Type.DType
	out := Output{
		Name: name, Type: got.Type.String(), MaxAbs: Number(f.maxAbs), Scale: Number(f.scale),
		Percent: Number(percent(f.maxAbs, f.scale)), By: EndToEnd, Bound: Number(f.bound),
		BoundPercent: Number(percent(f.bound, f.scale)), Verdict: Pass,
		NotFinite: f.notFinite, FirstNotFinite: f.first, Worst: f.worst, fit: f,
	}
	bounded := d
	scale := f.scale
	var wide, used, wrong *Statement
	x.before(v, func(s *Statement) {
		if wide == nil || s.tells() != wide.tells() && wide.tells() ||
			s.tells() == wide.tells() && s.BoundPercent > wide.BoundPercent {
			wide = s
		}
		if s.Used > 0 && (used == nil || s.Used > used.Used) {
			used = s
		}
		if !s.Pass && wrong == nil {
			wrong = s
		}
	})
	if used != nil {
		out.Statement, out.Used = used.Name, used.Used
	}
	if end.lost || !tells(f.bound, f.scale) {
		out.By, out.Bound, out.BoundPercent = Statements, 0, 0
		if wide != nil {
			out.Bound, out.BoundPercent, scale, bounded = wide.Bound, wide.BoundPercent, float64(wide.Scale), wide.typ
		}
		switch {
		case wide != nil && wide.fit.nan > 0:
			out.Verdict = CannotTell
			out.Why = fmt.Sprintf("statement %s: %s", wide.Name, wide.fit.undefined())
		case wide != nil && !wide.tells():
			out.Verdict = CannotTell
			out.Why = fmt.Sprintf("the bound of %s is %.3g %% of its scale", wide.Name, float64(wide.BoundPercent))
		case d.IsFloat() && end.departs(got, f.scale):
			out.Verdict = CannotTell
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
		out.Verdict = CannotTell
		out.Why = f.undefined()
	}
	switch {
	case !f.pass:
		out.Verdict = Fail
		out.Why = fmt.Sprintf("element %d is %g, reference %g", f.worst.Index, float64(f.worst.Got),
			float64(f.worst.Want))
	case wrong != nil:
		w := wrong.fit.worst
		out.Verdict = Fail
		out.Why = fmt.Sprintf("statement %s: element %d is %g, want %g within %.3g", wrong.Name, w.Index,
			float64(w.Got), float64(w.Want), wrong.fit.limit)
	}
	out.Pass = out.Verdict == Pass
	return out, nil
}

// before calls f for every statement that a value depends on, in order.
func (x *call) before(v *ir.Value, f func(s *Statement)) {
	needed := map[string]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if v == nil || needed[v.Name] {
			return
		}
		needed[v.Name] = true
		if v.Def == nil {
			return
		}
		for _, a := range free(v.Def) {
			visit(a)
		}
		for _, r := range v.Def.Results {
			needed[r.Name] = true
		}
	}
	visit(v)
	for _, s := range x.order {
		if needed[s.Name] {
			f(s)
		}
	}
}
