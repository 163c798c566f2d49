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
		Task:      func(t *td.Task) int64 { return int64(cost.Estimate(t, on).Time) },
		Constants: func(bytes int64) int64 { return int64(cost.Coefficients(bytes)) },
	}
}
