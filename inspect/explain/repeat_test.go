package explain

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/testmodel"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// decoder opens a decoder without weights.
func decoder(t *testing.T, layers int, queries ...int) *ir.Program {
	t.Helper()
	d := testmodel.Decoder{
		Layers: layers, Width: 512, Hidden: 1024, Heads: 8, Shared: 2, Head: 64, Vocabulary: 1000, Context: 1024,
		Queries: append([]int{1}, queries...),
	}
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(d.Text()), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Program
}

// TestWithOneLayerKeepsOneOfEqualLayers compares what is left of 12 layers with a decoder of one.
func TestWithOneLayerKeepsOneOfEqualLayers(t *testing.T) {
	if short, _ := withOneLayer(decoder(t, leastLayers-1)); short != nil {
		t.Errorf("%d layers are cut", leastLayers-1)
	}
	short, layers := withOneLayer(decoder(t, 12))
	if short == nil || layers < 11 || layers > 12 {
		t.Fatalf("%d equal layers of 12", layers)
	}
	want := decoder(t, 13-layers).Funcs[0]
	both, _ := withOneLayer(decoder(t, 12, 16))
	if both == nil || len(both.Funcs) != 2 {
		t.Fatal("the layers of two functions are not cut")
	}
	for _, f := range append(short.Funcs, both.Funcs[0]) {
		if len(f.Body.Ops) != len(want.Body.Ops) || len(f.Body.Params) != len(want.Body.Params) {
			t.Errorf("%d operations and %d inputs are left, want %d and %d", len(f.Body.Ops), len(f.Body.Params),
				len(want.Body.Ops), len(want.Body.Params))
		}
	}
}

// TestAdviceForManyLayersIsForAll checks that advice which is looked for on one layer names the statements of all and
// saves what the whole model saves, and that it is run if that is within the bound of a run.
func TestAdviceForManyLayersIsForAll(t *testing.T) {
	p := decoder(t, 12)
	for _, runs := range []int64{0, 1} {
		o := Options{Compile: compile.Options{Target: target.H13}, Seed: 1, Runs: runs}
		if runs > 0 {
			o.Screening = Screen(t.Context(), p, o) // while the model is estimated
			defer o.Screening.Close()
		}
		now, err := estimate(t.Context(), ir.CloneProgram(p), o.Compile)
		if err != nil {
			t.Fatal(err)
		}
		found, err := Advise(t.Context(), p, now, o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found.Advice, func(a Advice) bool { return a.Recipe == "group-queries" })
		if i < 0 {
			t.Fatalf("queries are not grouped: %+v", found)
		}
		a := &found.Advice[i]
		if len(a.Statements) != 12 || a.Before != now.CallTime() {
			t.Errorf("%d statements, %s us before", len(a.Statements), a.Before)
		}
		after, err := estimate(t.Context(), ir.CloneProgram(a.Program()), o.Compile)
		if err != nil {
			t.Fatal(err)
		}
		if saved := now.CallTime() - after.CallTime(); saved != a.Saves() {
			t.Errorf("the model saves %s us, the advice says %s", saved, a.Saves())
		}
		if a.Ran != (runs == 0) || a.Ran == (a.NotRun != "") {
			t.Errorf("bound %d: ran %t, %q", runs, a.Ran, a.NotRun)
		}
	}
}
