package sim

import (
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// The engine has names of its own for the two arithmetics, since it knows no package
// of zinc but the form of its tasks. This is the one place that knows both.

// EngineNumerics returns the engine's arithmetic of a mode.
func EngineNumerics(m numerics.Mode) engine.Numerics {
	if m == numerics.IEEE {
		return engine.IEEE
	}
	return engine.ANE
}

// Mode returns the mode in which the engine computes so.
func Mode(n engine.Numerics) numerics.Mode {
	if n == engine.IEEE {
		return numerics.IEEE
	}
	return numerics.ANE
}
