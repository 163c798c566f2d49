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
	Fitted    Grade = "fitted"    // to published measurements; others are held out
	Modelled  Grade = "modelled"  // assumed, without a source
)

// The constants that are not in the table of a target. All were measured on the M1 or
// derived from it.
var (
	peak = Constant{
		Name:  "peak",
		Value: 12e12,
		Unit:  "fp16 operations/s",
		Source: "published measurement on the M1: slope of ever deeper chains of fused matrix products, two " +
			"operations a multiply-accumulate, all cores",
		Known: Published,
	}
	tileBandwidth = Constant{
		Name:  "bandwidth of tensors",
		Value: 102400e6 / 3,
		Unit:  "B/s",
		Source: "the rate at which the vendor's compiler times the bytes of h13's tasks (Header.ExeCycles of " +
			"recorded tasks, below); 64 bits at 4266 million transfers a second give it",
		Known: Recorded,
	}
	kernelBandwidth = Constant{
		Name:  "bandwidth of coefficients",
		Value: 40e9,
		Unit:  "B/s",
		Source: "published measurement on the M1: about 40 GB/s effective on large weights; that coefficients of " +
			"every size get it is assumed",
		Known: Published,
	}
	handBandwidth = Constant{
		Name:   "bandwidth of inputs and outputs",
		Value:  5.3e9,
		Unit:   "B/s",
		Source: "fitted to three of five published times of one convolution on the M1 (below); the others are held out",
		Known:  Fitted,
	}
	clock = Constant{
		Name:  "clock",
		Value: 11e12 / (2 * 16 * 256),
		Unit:  "Hz",
		Source: "11e12 operations a second (the M1's published figure) by 2 operations, 16 cores and 256 products " +
			"per core and cycle; the 256 are assumed",
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
		Source: "chapter 2: a call takes about 190 us, of which 163 are the submission and 25 the binding; that the " +
			"rest is the way back to the caller is assumed",
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
	cs := []Constant{
		peak,
		{Name: "cores", Value: float64(t.Cores),
			Source: "kernels are spread over them; that a task which enables fewer gets their share of the peak is " +
				"assumed", Known: Modelled},
		tileBandwidth,
		kernelBandwidth,
		handBandwidth,
		clock,
		{Name: "L2 bytes per cycle", Value: l2Rate(t), Unit: "B",
			Source: fmt.Sprintf("%d banks of %d bytes, each one granule per cycle; the rate is assumed", t.L2Banks,
				t.L2Granule), Known: Modelled},
		{Name: "dispatch", Value: t.DispatchFloorUS, Unit: "us",
			Source: "published measurement on the M1: 190 us for each call of a small graph (190 to 230), 98 % of " +
				"it software",
			Known: Published},
	}
	cs = append(cs, cpuProducts, cpuBandwidth, cpuPeak, cpuCurve)
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

// Comparison is one result of comparing the model with data.
type Comparison struct {
	With   string
	Result string
}

// Comparisons are the errors of the model, in addition to MeasuredGraphs and Families.
// TestRate and TestRecorded check those with recorded tasks.
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
		"of two tasks with different times the same one is longer in 99.4 % of pairs",
	},
	{
		"the time in the headers of recorded tasks: published form",
		"its rates, task by task and without the dispatch, give 3.8 times the header's time at the median of 80 " +
			"tasks of 1 us and more",
	},
}

// Known is the model's known error, in one line.
func Known() string {
	held := MeasuredSpread(false, false)
	return fmt.Sprintf("an ordering, not a promise: off by %.0f %% at the median of %d published times of the M1 "+
		"that it was not fitted to, by up to %.0f %%; off by %.2f times at the median of %d recorded tasks, which "+
		"have the vendor's own estimate; what the CPU does is not in it (docs/cost.md)",
		100*(held.Median-1), held.Count, 100*(held.P90-1), Families[0].Median, Families[0].Count)
}

// Error says in a few words how far estimates are off, as far as that is known; Known has all of it.
func Error() string {
	held, worst := MeasuredSpread(false, false), 1.0
	for _, r := range measuredRatios(false, false) {
		worst = max(worst, r, 1/r)
	}
	return fmt.Sprintf("Estimate. Engine: half of %d graphs timed on an M1 within %.0f %%, the worst off by %.1f "+
		"times. CPU: rough.", held.Count, 100*(held.Median-1), worst)
}
