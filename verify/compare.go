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

// SpreadFactor multiplies the spread of the perturbed runs, because a few runs do not
// reach the largest error that the bounds allow.
const SpreadFactor = 3

// LooseFactor is the fraction of an output's scale above which its tolerance is
// reported as loose.
const LooseFactor = 0.25

// Number is a float64 that is encoded in JSON as a string if it is infinite or NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsInf(f, 0) || math.IsNaN(f) {
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return json.Marshal(float64(n))
}

// Output is the comparison of one output.
type Output struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	MaxAbs    Number `json:"max_abs"`   // largest difference of two elements
	MaxULP    int64  `json:"max_ulp"`   // the same in units in the last place of the output's type; for integers in 1s
	Tolerance Number `json:"tolerance"` // limit of MaxAbs; for integers the largest of the elements' limits
	Scale     Number `json:"scale"`     // largest magnitude in the reference
	// ToleranceULP and TolerancePercent are Tolerance in units in the last place of the output's type at Scale, and in
	// per cent of Scale. For integers and booleans they are 0.
	ToleranceULP     Number `json:"tolerance_ulp"`
	TolerancePercent Number `json:"tolerance_percent"`
	Pass             bool   `json:"pass"`
	// NotFinite counts the elements of the reference that are infinite or NaN: they have no error to bound, so for them
	// a pass only means that both runs return the same.
	NotFinite int `json:"not_finite,omitempty"`
	// Loose reports that the tolerance is so close to the output's scale that
	// passing shows little: the model amplifies small errors on these inputs, or
	// the output is close to zero.
	Loose bool `json:"loose,omitempty"`
	// Picked reports that the output contains positions, such as the indices of topk, and that MaxAbs, MaxULP,
	// Tolerance and Scale are of the elements at them, in the reference run.
	Picked bool    `json:"picked,omitempty"`
	Worst  Element `json:"worst"` // where MaxAbs is, or the first element beyond its limit
}

// Element is one element of an output in both runs.
type Element struct {
	Index int    `json:"index"` // row major
	Got   Number `json:"got"`
	Want  Number `json:"want"`
}

// tolerance collects the interpreter's runs for one output.
type tolerance struct {
	base   []float64
	spread []float64 // per element, the largest distance between a perturbed run and the same run unperturbed
	exact  bool      // no run rounds: the limit is zero
}

// values returns the elements as float64, exact except for 64-bit integers.
func values(t interp.Tensor) []float64 { return t.Const().Floats() }

// newTolerance returns a tolerance around the unperturbed run base.
func newTolerance(base interp.Tensor) *tolerance {
	v := values(base)
	return &tolerance{base: v, spread: make([]float64, len(v))}
}

// add widens the spread by the distance between a perturbed run and still, the same run
// unperturbed. It ignores elements that are not finite in either run.
func (t *tolerance) add(still, run interp.Tensor) {
	from := values(still)
	for i, y := range values(run) {
		if i < len(t.base) && i < len(from) {
			if d := math.Abs(y - from[i]); d <= math.MaxFloat64 {
				t.spread[i] = max(t.spread[i], d)
			}
		}
	}
}

// scale returns the largest finite magnitude of the base run.
func (t *tolerance) scale() float64 {
	m := 0.0
	for _, y := range t.base {
		if a := math.Abs(y); a <= math.MaxFloat64 {
			m = max(m, a)
		}
	}
	return m
}

// limits returns the limit of each element's distance. For floats it is the same for
// all elements: SpreadFactor times the largest spread, plus one unit in the last place
// of fp16 at the output's scale. For integers and booleans it is the element's spread.
func (t *tolerance) limits(d ir.DType) func(i int) float64 {
	if !d.IsFloat() {
		return func(i int) float64 { return t.spread[i] }
	}
	if t.exact {
		return func(int) float64 { return 0 }
	}
	m := 0.0
	for _, s := range t.spread {
		m = max(m, s)
	}
	limit := SpreadFactor*m + float64(numerics.ULP16(float32(t.scale())))
	return func(int) float64 { return limit }
}

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

// ulps returns the distance of two elements in units in the last place of d.
func ulps(d ir.DType, a, b float64) int64 {
	switch d {
	case ir.FP16:
		return int64(numerics.ULPDiff16(numerics.Narrow(float32(a)), numerics.Narrow(float32(b))))
	case ir.BF16:
		// bf16 is the upper half of an fp32 pattern.
		return numerics.ULPDiff32(float32(a), float32(b)) >> 16
	case ir.FP32, ir.FP64, ir.FP8E4M3, ir.FP8E5M2:
		return numerics.ULPDiff32(float32(a), float32(b))
	}
	return int64(min(math.Abs(a-b), math.MaxInt64/2))
}

// ulpAt returns the unit in the last place of a float type at a magnitude.
func ulpAt(d ir.DType, y float64) float64 {
	x := float32(y)
	if d == ir.FP16 {
		return float64(numerics.ULP16(x))
	}
	unit := float64(math.Nextafter32(x, math.MaxFloat32) - x)
	if d == ir.BF16 {
		unit *= 1 << 16 // bf16 is the upper half of an fp32 pattern
	}
	return unit
}

// compare compares an output with the interpreter's.
func compare(name string, got, want interp.Tensor, tol *tolerance) (Output, error) {
	if !got.Type.Equal(want.Type) {
		return Output{}, fmt.Errorf("output %s: the pair returns %s, the source %s", name, got.Type, want.Type)
	}
	d := want.Type.DType
	out := Output{Name: name, Type: want.Type.String(), Scale: Number(tol.scale()), Pass: true}
	limit := tol.limits(d)
	g := values(got)
	for i, w := range tol.base {
		e := distance(g[i], w)
		if w-w != 0 {
			out.NotFinite++
		}
		l := limit(i)
		out.Tolerance = max(out.Tolerance, Number(l))
		out.MaxULP = max(out.MaxULP, ulps(d, g[i], w))
		past := e > l
		if i == 0 || e > float64(out.MaxAbs) && (past || out.Pass) || past && out.Pass {
			out.Worst = Element{i, Number(g[i]), Number(w)}
		}
		out.MaxAbs = max(out.MaxAbs, Number(e))
		out.Pass = out.Pass && !past
	}
	if unit := ulpAt(d, float64(out.Scale)); d.IsFloat() {
		out.ToleranceULP = Number(float64(out.Tolerance) / unit)
		if out.Scale > 0 {
			out.TolerancePercent = Number(100 * float64(out.Tolerance) / float64(out.Scale))
		}
	}
	out.Loose = d.IsFloat() && float64(out.Tolerance) > LooseFactor*float64(out.Scale)
	return out, nil
}
