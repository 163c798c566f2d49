package compress

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// A Metric measures how far outputs are from the outputs of the reference.
type Metric string

// The metrics.
const (
	PSNR   Metric = "psnr"   // peak signal-to-noise ratio in dB: largest magnitude over root of the mean square error
	Cosine Metric = "cosine" // cosine of the angle between the outputs
	ULP    Metric = "ulp"    // largest difference in units in the last place of fp16 at the largest magnitude
)

// Metrics are all metrics.
var Metrics = []string{string(PSNR), string(Cosine), string(ULP)}

// Error is the error of a program's outputs by each metric, for the worst output.
type Error struct {
	PSNR   Decibels `json:"psnr"`   // in dB, smaller is worse
	Cosine float64  `json:"cosine"` // 1 where the outputs point the same way
	ULP    float64  `json:"ulp"`    // units in the last place of fp16 at the output's largest magnitude
	Output string   `json:"output"` // with the smallest psnr
}

// Decibels is a ratio that is encoded in JSON as a string if it is infinite.
type Decibels float64

// MarshalJSON implements json.Marshaler.
func (d Decibels) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(d), 0) {
		return json.Marshal("inf")
	}
	return json.Marshal(float64(d))
}

func (d Decibels) String() string {
	if math.IsInf(float64(d), 1) {
		return "equal"
	}
	return fmt.Sprintf("%.1f dB", float64(d))
}

// of returns the error by a metric.
func (m Metric) of(e *Error) float64 {
	switch m {
	case Cosine:
		return e.Cosine
	case ULP:
		return e.ULP
	}
	return float64(e.PSNR)
}

// Check returns an error for a limit that no program or every program keeps.
func (m Metric) Check(limit float64) error {
	switch {
	case m == Cosine && !(limit > 0 && limit <= 1):
		return fmt.Errorf("a cosine of %g, want more than 0 and at most 1", limit)
	case !(limit > 0) || math.IsInf(limit, 0):
		return fmt.Errorf("a limit of %g %s, want a number above 0", limit, m)
	}
	return nil
}

// power returns an error by the metric as a number in proportion to the power of the noise, about.
func (m Metric) power(x float64) float64 {
	switch m {
	case Cosine:
		return 1 - x
	case ULP:
		return x * x
	}
	return math.Pow(10, -x/10)
}

// within reports whether an error is at most a limit.
func (m Metric) within(e *Error, limit float64) bool { return m.power(m.of(e)) <= m.power(limit) }

// compare returns the error of outputs in the order of a function's.
func compare(outputs []*ir.Value, want, got map[string]interp.Tensor) (*Error, error) {
	e := &Error{PSNR: Decibels(math.Inf(1)), Cosine: 1}
	for _, v := range outputs {
		a, b := want[v.Name], got[v.Name]
		if a.Type.Kind != ir.Tensor || a.Type.DType == ir.String {
			continue
		}
		x, y := a.Const().Floats(), b.Const().Floats()
		if len(x) != len(y) {
			return nil, fmt.Errorf("output %s has %d elements, in the reference %d", v.Name, len(y), len(x))
		}
		var top, noise, dot, xx, yy, worst float64
		for i := range x {
			if math.IsNaN(x[i]) || math.IsInf(x[i], 0) {
				return nil, fmt.Errorf("element %d of output %s is %g in the reference; use other inputs", i, v.Name,
					x[i])
			}
			d := math.Abs(x[i] - y[i])
			if math.IsNaN(d) {
				d = math.Inf(1)
			}
			top, worst = max(top, math.Abs(x[i])), max(worst, d)
			noise += d * d
			dot, xx, yy = dot+x[i]*y[i], xx+x[i]*x[i], yy+y[i]*y[i]
		}
		if worst == 0 {
			continue
		}
		psnr := Decibels(20 * math.Log10(top/math.Sqrt(noise/float64(len(x)))))
		if psnr < e.PSNR || e.Output == "" {
			e.PSNR, e.Output = psnr, v.Name
		}
		if cos := dot / math.Sqrt(xx*yy); cos == cos {
			e.Cosine = min(e.Cosine, cos)
		} else {
			e.Cosine = min(e.Cosine, 0)
		}
		e.ULP = max(e.ULP, worst/float64(numerics.ULP16(float32(top))))
	}
	return e, nil
}

// ratio returns the signal-to-noise ratio of the values of a weight in another form, in dB.
func ratio(want, got *ir.Const) Decibels {
	x, y := interp.FromConst(want).View32(), interp.FromConst(got).View32()
	var signal, noise float64
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		signal, noise = signal+float64(x[i])*float64(x[i]), noise+d*d
	}
	if noise == 0 {
		return Decibels(math.Inf(1))
	}
	return Decibels(10 * math.Log10(signal/noise))
}
