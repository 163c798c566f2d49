package verify

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestDecompositionsComputeTheirOperations runs the calls whose decompositions package passes lists: the engine runs
// all of each, and agrees with the interpreter on the source's own operation.
func TestDecompositionsComputeTheirOperations(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "passes", "testdata", "decompose", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if line == "" || line[0] == ' ' || line[0] == '#' {
				continue
			}
			cpu := false
			for _, l := range lines[i+1:] {
				if !strings.HasPrefix(l, " ") {
					break
				}
				cpu = cpu || strings.Contains(l, "  cpu, ")
			}
			t.Run(line, func(t *testing.T) {
				seeds := uint64(2)
				if testing.Short() {
					seeds = 1
				}
				for seed := range seeds {
					g := irbuild.New(1)
					vs, err := g.Call(line)
					if err != nil {
						t.Fatal(err)
					}
					g.Output(vs...)
					r, err := Run(context.Background(), g.Program(), Options{
						Compile:  compile.Options{Target: target.H13, Place: passes.PlaceEngine},
						Seed:     seed,
						Numerics: numerics.ANE,
					})
					if err != nil {
						t.Fatal(err)
					}
					for _, o := range r.Outputs {
						if strings.Contains(o.Type, "int32") && o.MaxAbs != 0 {
							t.Errorf("seed %d: a place is off: %+v", seed, o)
						}
						if o.Verdict == Fail || o.BoundPercent > 25 && o.Scale != 0 {
							t.Errorf("seed %d: %+v", seed, o)
						}
					}
					if !cpu && (r.Model.CPUOps != 0 || r.Model.Tasks == 0) {
						t.Errorf("%d operations on the CPU, %d tasks", r.Model.CPUOps, r.Model.Tasks)
					}
				}
			})
		}
	}
}
