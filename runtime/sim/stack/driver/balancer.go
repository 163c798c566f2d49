package driver

import (
	"cmp"
	"slices"
	"time"
)

// balancer is the multi-engine arbiter, H1xANELoadBalancer: it owns the map from resident programs to engines. With one
// engine it is a pass-through. The command gate guards it.
type balancer struct {
	engines  []*hardware
	resident map[*program]int // index of the engine
}

// engine returns the engine of a program: where it resides, or else the one with the fewest programs (modelled), which
// puts it on the map when it loads it.
func (b *balancer) engine(p *program) *hardware {
	i, ok := b.resident[p]
	if !ok {
		held := make([]int, len(b.engines))
		for _, i := range b.resident {
			held[i]++
		}
		i = slices.Index(held, slices.Min(held))
	}
	return b.engines[i]
}

// Resident is a program and the engine that it resides on.
type Resident struct {
	Program int32 // the firmware's slot
	Engine  int
}

// Residents lists the resident programs by slot.
func (d *Device) Residents() (out []Resident) {
	_, _ = d.hold(nil, "residents", func(time.Duration) (Return, error) {
		for p, i := range d.balancer.resident {
			out = append(out, Resident{p.slot, i})
		}
		return Success, nil
	})
	slices.SortFunc(out, func(a, b Resident) int { return cmp.Compare(a.Program, b.Program) })
	return out
}
