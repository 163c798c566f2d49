package cost

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Part is a part of the time of a call whose estimate has a known error of its own.
type Part int

// The parts of a call. The measured calls of attention and of RMS norms, and of convolutions with far more constants
// than tensors, are explained by none of the rates, so the operations have bands of their own.
const (
	PartDispatch  Part = iota // the stages of dispatches; its band is for calls that do little else
	PartWork                  // handing over, and tasks of no other part
	PartAttention             // products of two computed values, and what is between them
	PartRMSNorm               // norms that divide by the root of a sum of squares, without a mean
	PartWeights               // convolutions whose constants are over twice as large as their tensors
	PartCPU                   // operations on the CPU
	Parts         = iota
)

var partNames = [Parts]string{"calls that are mostly dispatch", "other calls", "attention of computed values",
	"RMS norms", "convolutions with more constants than tensors", "CPU"}

// String names the part in a phrase.
func (p Part) String() string { return partNames[p] }

// Factors are the least and the largest ratio of a time to its estimate.
type Factors struct{ Low, High float64 }

// cpuBand is the factor that the estimate of the CPU may be off by in either direction.
const cpuBand = 3

// PartTimes is the estimated time of a call by part.
type PartTimes [Parts]Time

// Band is the interval of times that a call is expected to take.
type Band struct {
	Low  Time   `json:"low_us"`  // least time of a call that the estimate's known error allows
	High Time   `json:"high_us"` // largest time of a call that it allows
	Chip string `json:"chip"`    // chip whose published times the error is known from
}

// mostlyDispatch is the part of a call, in tenths, from which its error is the error of small calls.
const mostlyDispatch = 7

// Ordinary returns the part whose band the dispatches, the handing over and the tasks of no other part have:
// PartDispatch in a call that does little else.
func (t *PartTimes) Ordinary() Part {
	if 10*t[PartDispatch] >= mostlyDispatch*(t[PartDispatch]+t[PartWork]) {
		return PartDispatch
	}
	return PartWork
}

// Band returns the interval for a call.
func (r *Rates) Band(t *PartTimes) Band {
	low, high := 0.0, 0.0
	for p, d := range t {
		f := r.Bands[p]
		switch Part(p) {
		case PartDispatch, PartWork:
			f = r.Bands[t.Ordinary()]
		case PartCPU:
			f = Factors{1.0 / cpuBand, cpuBand}
		}
		low, high = low+f.Low*float64(d), high+f.High*float64(d)
	}
	return Band{Low: Time(math.Round(low)), High: Time(math.Round(min(high, math.MaxInt32*1e9))), Chip: r.Chip}
}

// Add adds the band of another call.
func (b *Band) Add(o Band) {
	b.Low, b.High = b.Low+o.Low, b.High+o.High
	b.Chip = o.Chip
}

// Within writes a time with its band, as in "11 ms (9.5 to 13, M1)". Both have the unit of the time.
func (b *Band) Within(t Time) string {
	if b == nil {
		return t.Short()
	}
	return fmt.Sprintf("%s (%s)", t.Short(), b.Range(t))
}

// Range writes the band of a time in the time's unit, as in "9.5 to 13, M1".
func (b *Band) Range(t Time) string {
	_, unit, _ := strings.Cut(t.Short(), " ")
	return fmt.Sprintf("%s to %s, %s", b.Low.in(unit), b.High.in(unit), b.Chip)
}

// Holds reports whether a time in microseconds is in the band.
func (b *Band) Holds(us float64) bool { return float64(b.Low) <= us*1e3 && us*1e3 <= float64(b.High) }

// in writes the time in a unit of Short, with two digits or whole.
func (t Time) in(unit string) string {
	v := float64(t)
	for _, u := range []string{"ns", "us", "ms", "s"} {
		if u == unit {
			break
		}
		v /= 1000
	}
	digits := 1 // after the point
	if v != 0 {
		digits = max(0, 1-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	step := math.Pow(10, float64(int(math.Floor(math.Log10(max(math.Abs(v), 1e-9))))-1))
	v = math.Round(v/step) * step
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}
