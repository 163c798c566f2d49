package sim

import (
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// arithmetic is what the engine calls each mode. It has names of its own, since it
// knows no package of zinc but the form of its tasks; this is the one place that knows
// both.
var arithmetic = [...]engine.Numerics{
	numerics.IEEE:     engine.IEEE,
	numerics.ANE:      engine.ANE,
	numerics.ANELanes: engine.ANELanes,
}

// EngineNumerics returns the engine's arithmetic of a mode; of one that there is not,
// the engine's own.
func EngineNumerics(m numerics.Mode) engine.Numerics {
	if int(m) < len(arithmetic) {
		return arithmetic[m]
	}
	return engine.ANE
}

// Mode returns the mode in which the engine computes so, ANE where there is none.
func Mode(n engine.Numerics) numerics.Mode {
	if i := slices.Index(arithmetic[:], n); i >= 0 {
		return numerics.Mode(i)
	}
	return numerics.ANE
}
