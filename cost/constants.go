package cost

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/target"
)

// Constant is one number of the model.
type Constant struct {
	Name     string
	Value    float64
	Unit     string
	Source   string
	Modelled bool // assumed for want of a source
}

// The constants that no target's table holds. All were measured on the M1 or
// follow from it.
var (
	kernelBandwidth = Constant{"bandwidth of coefficients", 40e9, "B/s", "published measurement on the M1: about 40 GB/s effective on large weights; that coefficients of every size get it is assumed", false}
	clock           = Constant{"clock", 11e12 / (2 * 16 * 256), "Hz", "11e12 operations a second (the M1's published figure) by 2 operations, 16 cores and 256 products a core and cycle; the 256 are assumed", true}

	stageBind     = Constant{"binding, runtime, host copies", 25, "us", "dispatch of a small graph on the M1, chapter 2, table 2.3", false}
	stageRequest  = Constant{"building the firmware request", 16, "us", "chapter 2, table 2.3", false}
	stageKick     = Constant{"firmware kick", 2.5, "us", "chapter 2, table 2.3: 2 to 3", false}
	stageTrip     = Constant{"firmware round trip", 130, "us", "chapter 2, table 2.3; the measured graph's own work, 2 % of its 190 us, is in it", false}
	stageComplete = Constant{"completion in the kernel", 10, "us", "chapter 2, table 2.3", false}
)

// restName names what a call takes beyond the stages of the table.
const restName = "not in a stage"

// stages are the stages of a dispatch, in order.
var stages = []*Constant{&stageBind, &stageRequest, &stageKick, &stageTrip, &stageComplete}

// l2Rate is the L2 bytes of one cycle.
func l2Rate(t *target.Table) float64 { return float64(t.L2Banks * t.L2Granule) }

// Constants returns every number that the estimates for a target are made of.
func Constants(t *target.Table) []Constant {
	cs := []Constant{
		{"peak", t.PeakFLOPs, "fp16 operations/s", "published measurement on the M1, two operations a multiply-accumulate, all cores", false},
		{"cores", float64(t.Cores), "", "kernels are spread over them; that a task which enables fewer gets their share of the peak is assumed", true},
		{"bandwidth of tensors", t.Bandwidth, "B/s", "published measurement on the M1, one stream of dispatches", false},
		kernelBandwidth,
		clock,
		{"L2 bytes a cycle", l2Rate(t), "B", fmt.Sprintf("%d banks of %d bytes, each one granule a cycle; the rate is assumed", t.L2Banks, t.L2Granule), true},
		{"dispatch", t.DispatchFloorUS, "us", "published measurement on the M1: 190 us a call of a small graph (190 to 230), 98 % of it software", false},
	}
	for _, s := range stages {
		cs = append(cs, Constant{"stage: " + s.Name, s.Value, s.Unit, s.Source, s.Modelled})
	}
	return cs
}

// Comparison is one thing that the model was held against.
type Comparison struct {
	With   string
	Result string
	Short  string // for one line with the others, "" to leave it out
}

// Comparisons say how far the model is off. Those with recorded tasks are
// computed again by TestRecorded.
var Comparisons = []Comparison{
	{
		"a public measurement of this form of model on the M1",
		"median error 31 % over 68 graphs",
		"median error 31 % over 68 graphs in a public measurement of this form of model",
	},
	{
		"the time in the headers of recorded tasks: bytes",
		"the DMA bytes give the header's time at 34.13 GB/s in 116 of 118 tasks",
		"",
	},
	{
		"the time in the headers of recorded tasks: estimate",
		"2.99 times the header's at the median of the 55 tasks of 1 us and more, 1.18 to 4.85 times in the middle four fifths; the header is the vendor's own estimate, by bytes alone",
		"2.99 times the vendor's own estimate at the median of 55 recorded tasks",
	},
	{
		"the time in the headers of recorded tasks: order",
		"of two tasks with different times the same one is longer in 95 % of pairs",
		"",
	},
}

// Known is the model's known error, in one line.
func Known() string {
	var parts []string
	for _, c := range Comparisons {
		if c.Short != "" {
			parts = append(parts, c.Short)
		}
	}
	return "an ordering, not a promise: " + strings.Join(parts, ", ") + "; what the CPU does is not estimated (docs/cost.md)"
}
