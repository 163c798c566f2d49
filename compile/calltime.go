package compile

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost"
)

// UseCPU is the use of the time that operations on the CPU take. The other uses are the terms of package cost.
const UseCPU = "cpu"

// CallPart is one use of the time of a call.
type CallPart struct {
	Use  string    `json:"name"` // dispatch, io, macs, dma, l2 or cpu
	Time cost.Time `json:"us"`   // time that goes to it
}

// CallTime returns what one call takes, or one call of each function: the dispatches, the copying of inputs and
// outputs, the engine's tasks and the operations on the CPU. Everything that states or compares the time of a call uses
// it. A plan, which has no tasks, has the time of the CPU alone.
func (r *Report) CallTime() cost.Time {
	sum := cost.Time(0)
	for _, p := range r.CallParts() {
		sum += p.Time
	}
	return sum
}

// band returns the interval of times that a call is expected to take by the known error of its estimate.
func (r *Report) band() *cost.Band {
	t := r.Estimate.apart
	t[cost.PartDispatch] = r.Estimate.Terms[cost.Dispatch]
	t[cost.PartCPU] = r.CPU
	t[cost.PartWork] = r.Estimate.Time - t[cost.PartDispatch]
	for _, p := range []cost.Part{cost.PartAttention, cost.PartRMSNorm, cost.PartWeights} {
		t[cost.PartWork] -= t[p]
	}
	b := cost.RatesFor(r.Target).Band(&t)
	return &b
}

// CallText writes CallTime with its band, as in "11 ms (9.5 to 13, M1)". Every text that states the time of a call has
// it.
func (r *Report) CallText() string { return r.Band.Within(r.CallTime()) }

// CallParts divides CallTime by use, the largest part first. Uses that take no time are omitted.
func (r *Report) CallParts() []CallPart {
	parts := []CallPart{{UseCPU, r.CPU}}
	if r.Estimate != nil {
		for i, t := range r.Estimate.Terms {
			parts = append(parts, CallPart{cost.Term(i).String(), t})
		}
	}
	parts = slices.DeleteFunc(parts, func(p CallPart) bool { return p.Time <= 0 })
	slices.SortStableFunc(parts, func(a, b CallPart) int { return cmp.Compare(b.Time, a.Time) })
	return parts
}
