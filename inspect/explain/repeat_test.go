package explain

import (
	"context"
	"os"
	"path/filepath"
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

// TestAdviceForManyLayersIsForAll checks that advice which is looked for on one layer names the statements of all.
func TestAdviceForManyLayersIsForAll(t *testing.T) {
	tab, err := target.Lookup("h13")
	if err != nil {
		t.Fatal(err)
	}
	p, o := decoder(t, 12), Options{Compile: compile.Options{Target: tab}, Seed: 1}
	now, err := estimate(context.Background(), ir.CloneProgram(p), o.Compile)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Advise(context.Background(), p, now, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found.Advice {
		if a.Recipe == "group-queries" && len(a.Statements) == 12 && a.Before == now.CallTime() {
			return
		}
	}
	t.Errorf("queries are not grouped in 12 places: %+v", found)
}
