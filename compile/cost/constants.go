package cost

import (
	"fmt"

	"github.com/zinc-compiler/zinc/target"
)

// Constant is one number of the model.
type Constant struct {
	Name   string
	Value  float64
	Unit   string
	Source string
	Known  Grade
}

// Grade is how well a constant is established.
type Grade string

// Grades of a constant, best first.
const (
	Published Grade = "published" // a measurement of the hardware
	Recorded  Grade = "recorded"  // follows from programs that the vendor's compiler wrote
	Fitted    Grade = "fitted"    // to published measurements
	Modelled  Grade = "modelled"  // assumed, without a source
)

// The constants that are neither in the table of a target nor fitted (Rates). All were measured on the M1 or derived
// from it.
var (
	clock = Constant{
		Name:  "clock",
		Value: 11e12 / (2 * 16 * 256),
		Unit:  "Hz",
		Source: "11e12 operations a second (the M1's published figure) by 2 operations, 16 cores and 256 products " +
			"per core and cycle; the 256 are assumed",
		Known: Modelled,
	}

	expansion = Constant{
		Name:  "compressed coefficients",
		Value: 4,
		Unit:  "a core and cycle",
		Source: "8 bytes of fp16 a core and cycle; palettes of 4 bits reach 3.3 to 4.2 of them on the M5 Pro " +
			"(ANEForge, compress_speedup_bench), and on the M1 they are 2.37 times as fast as fp16, which 3.9 are " +
			"(sbryngelson/ane-guide, chapter 7); that other forms and chips have the same limit is assumed",
		Known: Modelled,
	}

	stageBind = Constant{
		Value:  25,
		Unit:   "us",
		Source: "dispatch of a small graph on the M1, chapter 2, table 2.3",
		Known:  Published,
	}
	stageEnter = Constant{
		Value: 4.5,
		Unit:  "us",
		Source: "chapter 2: the submission takes about 163 us from entry to return, and the stages inside it 158.5; " +
			"that the entry takes the difference is assumed",
		Known: Modelled,
	}
	stageRequest = Constant{
		Value:  16,
		Unit:   "us",
		Source: "chapter 2, table 2.3",
		Known:  Published,
	}
	stageKick = Constant{
		Value:  2.5,
		Unit:   "us",
		Source: "chapter 2, table 2.3: 2 to 3",
		Known:  Published,
	}
	stageTrip = Constant{
		Value: 130 - 3.8,
		Unit:  "us",
		Source: "chapter 2, table 2.3: 130, less the engine's part below; the chapter says that it cannot be split " +
			"further, and half of it before the engine's work and half after it is assumed",
		Known: Published,
	}
	stageStart = Constant{
		Value: 3.8,
		Unit:  "us",
		Source: "chapter 2: about 98 % of the 190 us of a small graph is software; that the other 2 %, inside the " +
			"round trip, is time to start and drain the engine, which every dispatch takes, is assumed",
		Known: Modelled,
	}
	stageComplete = Constant{
		Value:  10,
		Unit:   "us",
		Source: "chapter 2, table 2.3",
		Known:  Published,
	}
	stageReturn = Constant{
		Value: 2,
		Unit:  "us",
		Source: "chapter 2: a call takes about 190 us, the submission 163 of them and the binding 25; that the rest " +
			"of the target's dispatch, here of 190, is the way back to the caller is assumed",
		Known: Modelled,
	}
	powerUp = Constant{
		Name:   "power-up",
		Value:  500,
		Unit:   "us",
		Source: "assumed: no source states how long the engine takes to get power; paid when the firmware boots",
		Known:  Modelled,
	}
	clockRamp = Constant{
		Name:   "clock ramp",
		Value:  100,
		Unit:   "us",
		Source: "assumed: no source states how long the clock takes to become stable; paid with power-up",
		Known:  Modelled,
	}
)

// l2Rate is the number of L2 bytes per cycle.
func l2Rate(t *target.Table) float64 { return float64(t.L2Banks * t.L2Granule) }

// Constants returns every number that the estimates for a target use.
func Constants(t *target.Table) []Constant {
	cs := append(RatesOf(t).constants(), []Constant{
		{Name: "cores", Value: float64(t.Cores),
			Source: "kernels are spread over them; that a task which enables fewer gets their share of the rate is " +
				"assumed", Known: Modelled},
		clock,
		{Name: "L2 bytes per cycle", Value: l2Rate(t), Unit: "B",
			Source: fmt.Sprintf("%d banks of %d bytes, each one granule per cycle; the rate is assumed", t.L2Banks,
				t.L2Granule), Known: Modelled},
		expansion, expanderOf(RatesOf(t)).clock(), expanderOf(RatesOf(t)).placing(),
		cpuProducts, cpuBandwidth, cpuPeak, cpuCurve,
		{Name: "CPU: band", Value: cpuBand,
			Source: "assumed: the factor that the estimate of the CPU may be off by; no time of an M1's CPU is held " +
				"against it", Known: Modelled},
	}...)
	for c := range Cause(Causes) {
		if s := causes[c].stage; s != nil {
			cs = append(cs, Constant{
				Name:   "stage: " + c.String(),
				Value:  s.Value,
				Unit:   s.Unit,
				Source: s.Source,
				Known:  s.Known,
			})
		}
	}
	return append(cs, powerUp, clockRamp)
}

// constants returns the rates as constants.
func (r *Rates) constants() []Constant {
	rate := func(name string, value float64, unit, of string, rows int) Constant {
		c := Constant{Name: name, Value: value, Unit: unit, Known: Fitted}
		c.Source = fmt.Sprintf("%s; fitted to %d published times of the %s; %d of them determine it", of, r.Points,
			r.Chip, rows)
		if rows < 2 {
			c.Known = Published
			c.Source = of + "; a published figure or another chip's: it was measured, or too few times determine it"
		}
		return c
	}
	return []Constant{
		rate("dispatch", r.Dispatch, "us", "a call without work", r.Rows.Dispatch),
		rate("rate of inputs", r.In, "B/s", "copying inputs to the engine", r.Rows.In),
		rate("rate of outputs", r.Out, "B/s", "copying outputs back", r.Rows.Out),
		rate("rate of DMA", r.DMA, "B/s", "tensors and constants alike", r.Rows.DMA),
		rate("rate of products", r.Products, "fp16 operations/s", "two operations a multiply-accumulate, all cores",
			r.Rows.Products),
	}
}

// Comparison is one result of comparing the model with data.
type Comparison struct {
	With   string
	Result string
}

// Comparisons are results of comparing the model with recorded tasks, which TestRate and TestRecorded repeat. The time
// in a header is the vendor's own estimate, from bytes alone, at a rate that is no rate of the hardware.
var Comparisons = []Comparison{
	{
		"the time in the headers of recorded tasks: bytes",
		"the DMA bytes give the header's time at 34.13 GB/s in 152 of 164 tasks",
	},
	{
		"the time in the headers of recorded tasks: rate",
		"one half of the programs, by name, has the rate of bytes between 34.11 and 34.16 GB/s (6 tasks left out), " +
			"the constant is 34.13; with it 74 of 80 tasks of the other half have the header's time",
	},
	{
		"the time in the headers of recorded tasks: order",
		"of two tasks with different times the same one is longer in 99.0 % of pairs",
	},
}

// Known is the known error of the estimates for a target, in one line.
func Known(tab *target.Table) string {
	r := RatesOf(tab)
	return fmt.Sprintf("an ordering, not a promise: off by %.0f %% at the median and by up to %.0f %% for nine of ten "+
		"of %d published times of the %s, each left out of the fit; the bands hold %d of all %d; what the CPU does is "+
		"known worse (docs/cost.md)", 100*r.Median, 100*r.P90, r.Points, r.Chip, r.Held, r.Shown)
}

// Error says in a few words how far estimates for a target are off, as far as that is known; Known has all of it.
func Error(targetName string) string {
	r := RatesFor(targetName)
	return fmt.Sprintf("Estimate. Engine: half of %d graphs timed on an %s within %.0f %%, nine of ten within "+
		"%.0f %%. CPU: rough.", r.Points, r.Chip, 100*r.Median, 100*r.P90)
}
