package sim

import (
	"testing"

	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// Every mode is an arithmetic of its own, there and back.
func TestEngineNumerics(t *testing.T) {
	seen := map[engine.Numerics]string{}
	for i, name := range numerics.ModeNames() {
		m, err := numerics.ParseMode(name)
		if err != nil || int(m) != i {
			t.Fatalf("mode %d is called %s: %v", i, name, err)
		}
		n := EngineNumerics(m)
		if other, ok := seen[n]; ok {
			t.Errorf("%s and %s are one arithmetic", name, other)
		}
		seen[n] = name
		if back := Mode(n); back != m {
			t.Errorf("%s becomes %s", name, back)
		}
	}
	if EngineNumerics(200) != engine.ANE || Mode(200) != numerics.ANE {
		t.Error("what there is not is not the engine's own arithmetic")
	}
}
