package interp_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/interp/conformance"
)

// misses are the cases whose values differ; docs/deviations.md has the reasons. The last part of a name numbers the
// cases of one test over the operation sets.
var misses = []string{
	"crop_resize-iOS15-TestCropResize.builder_to_backend_smoke",
}

func missed(name string) string {
	for _, m := range misses {
		if strings.HasPrefix(name, m+"-") {
			return m
		}
	}
	return ""
}

// TestConformance runs the conformance cases: programs, inputs and values of coremltools' own tests of its operations.
// It checks the types of the results, and their values within the tolerances of the cases.
func TestConformance(t *testing.T) {
	cases := conformance.Dirs(t)
	passed, all, seen := 0, 0, map[string]bool{}
	for i, dir := range cases {
		name := filepath.Base(dir)
		if testing.Short() && i%7 != 0 && missed(name) == "" {
			continue
		}
		all++
		err := runConformance(dir)
		switch m := missed(name); {
		case err == nil && m != "":
			t.Errorf("%s passes; take it from the list of misses and from docs/deviations.md", name)
		case err == nil:
			passed++
		case m != "":
			seen[m] = true
			t.Logf("%s: %v (see docs/deviations.md)", name, err)
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d of %d cases pass (%.1f %%)", passed, all, 100*float64(passed)/float64(all))
	for _, m := range misses {
		if !seen[m] {
			t.Errorf("no case is named %s-*", m)
		}
	}
}

// TestMissesAreDocumented compares docs/deviations.md with the list of misses.
func TestMissesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "deviations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range misses {
		if !strings.Contains(string(doc), m) {
			t.Errorf("docs/deviations.md does not name %s", m)
		}
	}
}

// runConformance runs all predictions of one case.
func runConformance(dir string) error {
	c, err := conformance.Read(dir)
	if err != nil {
		return err
	}
	m, err := frontend.Open(dir, frontend.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Program.Entry("")
	if err != nil {
		return err
	}
	prog, err := interp.Prepare(f)
	if err != nil {
		return err
	}
	inputs, err := c.Input()
	if err != nil {
		return err
	}
	states := map[string]interp.Tensor{}
	for i := range max(1, c.Iterations) {
		got, err := prog.Run(context.Background(), inputs, interp.Options{States: states})
		if err != nil {
			return err
		}
		if err := c.Compare(i, got, c.Stated); err != nil {
			return err
		}
	}
	return nil
}
