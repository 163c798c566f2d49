package cli

import (
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
)

func TestPairPathsFollowModelOrOutput(t *testing.T) {
	for _, c := range []struct{ out, model, container, descriptor string }{
		{model: "a/b.mlmodelc", container: "b.hwx", descriptor: "b.e5"},
		{model: "a/b.mlmodelc/", container: "b.hwx", descriptor: "b.e5"},
		{model: "model.mil", container: "model.hwx", descriptor: "model.e5"},
		{out: "x/y.hwx", model: "m", container: "x/y.hwx", descriptor: "x/y.e5"},
		{out: "x/y", model: "m", container: "x/y", descriptor: "x/y.e5"},
		{out: "y.bin", model: "m", container: "y.bin", descriptor: "y.bin.e5"},
	} {
		at, err := new(env).pairPaths(c.out, c.model)
		if err != nil || at.Container != c.container || at.Descriptor != c.descriptor {
			t.Errorf("-o %q of %q: %+v, %v", c.out, c.model, at, err)
		}
		// The pair is found again under its own path.
		if again := pair.PathsOf(at.Container); again != at {
			t.Errorf("the pair of %q is %+v", at.Container, again)
		}
	}
}
