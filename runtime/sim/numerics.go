package sim

import (
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// arithmetic maps each mode to the engine's name for it. The engine has names of its own because it imports no package
// of zinc except the task format's; only this table knows both.
var arithmetic = [...]engine.Numerics{
	numerics.IEEE:    engine.IEEE,
	numerics.ANE:     engine.ANE,
	numerics.ANEWide: engine.ANEWide, numerics.ANEFixed: engine.ANEFixed,
}

// EngineNumerics returns the engine's arithmetic for a mode, and the engine's default for an unknown one.
func EngineNumerics(m numerics.Mode) engine.Numerics {
	if int(m) < len(arithmetic) {
		return arithmetic[m]
	}
	return engine.ANE
}

// Mode returns the mode of an engine arithmetic, or ANE if there is none.
func Mode(n engine.Numerics) numerics.Mode {
	if i := slices.Index(arithmetic[:], n); i >= 0 {
		return numerics.Mode(i)
	}
	return numerics.ANE
}
