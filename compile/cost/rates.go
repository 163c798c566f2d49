package cost

import (
	"slices"

	"github.com/zinc-compiler/zinc/target"
)

// Rates are the constants of one chip that are fitted to published times of calls, by the command in fit. What
// no row determines is inherited from another chip.
type Rates struct {
	Chip string // as in target.Chips

	Dispatch float64 // microseconds of a dispatch
	In, Out  float64 // bytes/s of inputs to the engine and of outputs back
	DMA      float64 // bytes/s of the engine's DMA, of tensors and constants
	Products float64 // fp16 operations/s with all cores

	// Bands are the least and the largest factor of a part's estimate, by the errors of rows that were left out.
	Bands [Parts]Factors
	// Rows are the numbers of rows that determine each constant: whose estimates change by a tenth of its change or
	// more. A constant that fewer than two determine is not fitted.
	Rows RateRows
	// Points is the number of rows that the constants are fitted to, Median and P90 how far the estimates of those rows
	// are off when each is left out of the fit.
	Points      int
	Median, P90 float64
	// Shown is the number of all rows, with the rows that no rate explains; Held of them are in their bands.
	Shown, Held int
}

// RateRows is a number for each of the rates.
type RateRows struct{ Dispatch, In, Out, DMA, Products int }

// Target returns the target whose programs the chip runs.
func (r *Rates) Target() string {
	tab, err := target.Lookup(r.Chip)
	if err != nil {
		panic(err) // the table of chips is wrong
	}
	return tab.Name
}

// RatesOf returns the constants for a target: the rates of the chip that its table names.
func RatesOf(tab *target.Table) *Rates {
	i := slices.IndexFunc(Chips, func(r Rates) bool { return r.Chip == tab.CostOf })
	return &Chips[max(i, 0)]
}

// Simulated is the target whose constants the simulated machine has: the one of the first chip, an M1.
var Simulated = func() *target.Table {
	tab, err := target.Lookup(Chips[0].Chip)
	if err != nil {
		panic(err) // the table of chips is wrong
	}
	return tab
}()

// TaskWork is what a task moves and computes: what its time follows from.
type TaskWork struct {
	MACs, TileBytes, L2Bytes int64
	Kernel                   Stream
	Cores                    int64 // that are enabled
}

// Times returns the time of each term alone.
func (w *TaskWork) Times(r *Rates, tab *target.Table) (s Split) {
	cores := min(tab.Cores, w.Cores)
	s[Products] = seconds(float64(w.MACs) * 2 / (r.Products * float64(cores) / float64(tab.Cores)))
	s[DMA] = seconds(float64(w.TileBytes)/r.DMA + w.Kernel.reading(cores, r))
	s[L2] = seconds(float64(w.L2Bytes) / (l2Rate(tab) * clock.Value))
	return s
}

// Handing returns the time to pass inputs to the engine and outputs back, in bytes.
func (r *Rates) Handing(in, out int64) Time {
	return seconds(float64(max(0, in))/r.In + float64(max(0, out))/r.Out)
}

// Handing returns the time to pass the inputs of a dispatch to the engine and its outputs back, in bytes.
func Handing(in, out int64, tab *target.Table) Time { return RatesOf(tab).Handing(in, out) }

// Overhead returns the sum of the stages of a dispatch.
func Overhead(tab *target.Table) Time { return Micros(RatesOf(tab).Dispatch) }

// stagesOf returns the time of each cause in a dispatch of a target: the published stages, and for the way back to the
// caller what they leave of the target's dispatch. If they leave nothing, the stages have shares of the dispatch.
func stagesOf(tab *target.Table) (times [Causes]Time) {
	whole, sum := Overhead(tab), Time(0)
	for c := range causes {
		if s := causes[c].stage; s != nil {
			times[c] = Micros(s.Value)
			sum += times[c]
		}
	}
	if rest := whole - sum + times[Return]; rest > 0 {
		times[Return] = rest
		return times
	}
	at, done := Time(0), Time(0)
	for c := range causes {
		at += times[c]
		end := Time(float64(whole) * float64(at) / float64(sum))
		times[c], done = end-done, end
	}
	return times
}

// Stages returns the times of the stages of a dispatch besides the engine's tasks, which add up to Overhead.
func Stages(tab *target.Table) []Stage {
	var out []Stage
	for c, t := range stagesOf(tab) {
		if t != 0 {
			out = append(out, Stage{Cause(c).String(), t})
		}
	}
	return out
}

// Chained returns the time of a dispatch that the firmware starts after another one without the host, besides its
// tasks: the engine starts again, and nothing else happens (modelled).
func Chained(tab *target.Table) Time { return stagesOf(tab)[Start] }

// RatesFor returns the constants for a target by name.
func RatesFor(name string) *Rates {
	tab, err := target.Lookup(name)
	if err != nil {
		tab = Simulated
	}
	return RatesOf(tab)
}
