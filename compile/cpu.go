package compile

import (
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// times estimates the engine's work on a target.
func times(on *target.Table) *lower.Estimator {
	return &lower.Estimator{
		Task: func(t *td.Task) int64 { return int64(cost.Estimate(t, on).Time) },
		Constants: func(s lower.Stream) int64 {
			return int64(cost.Coefficients(cost.Stream{Bytes: s.Bytes, Expanded: s.Expanded, Values: s.Values}, on))
		},
	}
}

// dispatchTime estimates a dispatch with the given bytes of inputs and of outputs, without its tasks.
func (d *driver) dispatchTime(in, out int64) int64 {
	return int64(cost.Overhead(d.o.Target) + cost.Handing(in, out, d.o.Target))
}
