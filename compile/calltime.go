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
