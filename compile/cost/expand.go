package cost

import (
	"slices"

	"github.com/zinc-compiler/zinc/target"
)

// Stream is what tasks read of coefficients: bytes, and what the engine makes of those that are in a compressed form.
type Stream struct {
	Bytes    int64
	Expanded int64 // coefficients that the bytes of a compressed form stand for
	Values   int64 // of them, in sparse kernels that a mask places: fp16 numbers
}

// expander is how fast a chip expands compressed coefficients.
type expander struct {
	chip   string // as in Chips
	hz     float64
	source string
	// values is the number of sparse values that a core places in a cycle.
	values float64
}

// oneValue and twoValues are how many values a core places: one on the M1, where a stack of convolutions with 63 %
// zeros is 1.55 to 1.64 times as fast as dense (sbryngelson/ane-guide, chapter 7), while bytes alone would give 2.3;
// more on the M5 Pro, where a product with 68 % zeros takes as long as one with palettes of 4 bits.
const (
	oneValue  = 1
	twoValues = 2
)

// expanders are the chips with a clock of their own; those that are not here have the M1's.
var expanders = []expander{
	{chip: "M2 Pro", hz: 15.8e12 / (2 * 16 * 256), values: oneValue,
		source: "15.8e12 operations a second (the M2's published figure) as for the M1"},
	{chip: "M4 Max", hz: 2.364e9, values: twoValues, source: "the vendor's own table, of the M4 (study of the M6)"},
	{chip: "M4", hz: 2.364e9, values: twoValues, source: "the vendor's own table (study of the M6)"},
	{chip: "M5 Pro", hz: 2.364e9, values: twoValues, source: "the M4's; no source has the M5's"},
	{chip: "M6", hz: 2.58e9, values: twoValues, source: "measured (study of the M6)"},
}

func expanderOf(r *Rates) *expander {
	if i := slices.IndexFunc(expanders, func(e expander) bool { return e.chip == r.Chip }); i >= 0 {
		return &expanders[i]
	}
	return &expander{chip: r.Chip, hz: clock.Value, source: clock.Source, values: oneValue}
}

func (e *expander) clock() Constant {
	return Constant{Name: "clock of the cores that expand coefficients", Value: e.hz, Unit: "Hz", Source: e.source,
		Known: Modelled}
}

func (e *expander) placing() Constant {
	return Constant{
		Name: "sparse values", Value: e.values, Unit: "a core and cycle", Source: "that a mask places; 1 on the M1, " +
			"where 63 % zeros are 1.55 to 1.64 times as fast as dense and bytes alone would be 2.3 times " +
			"(sbryngelson/ane-guide, chapter 7), 2 from the M3 on, as the M5 Pro shows (ANEForge)", Known: Modelled,
	}
}

// reading returns the time to read and expand coefficients in cores, in seconds.
func (s *Stream) reading(cores int64, r *Rates) float64 {
	e := expanderOf(r)
	each := e.hz * float64(max(cores, 1))
	return max(float64(s.Bytes)/r.DMA, float64(s.Expanded)/(expansion.Value*each),
		float64(s.Values)/(e.values*each))
}

// Coefficients returns the time to load coefficients on all cores.
func Coefficients(s Stream, tab *target.Table) Time {
	s = Stream{max(0, s.Bytes), max(0, s.Expanded), max(0, s.Values)}
	return seconds(s.reading(tab.Cores, RatesOf(tab)))
}
