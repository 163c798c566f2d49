package compile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// totals returns the estimated time of a call of each function of a program, placed in one way.
func totals(p *ir.Program, place string) (ts []cost.Time, err error) {
	var r *compile.Report
	to := compile.Sink{Estimate: compile.To(&r)}
	if err := compile.Compile(context.Background(), ir.CloneProgram(p),
		compile.Options{Target: target.H13, Place: place}, to); err != nil {
		return nil, fmt.Errorf("place %s: %w", place, err)
	}
	for _, f := range r.Each() {
		ts = append(ts, f.CallTime())
	}
	return ts, nil
}

// modelsBelow returns the models in folders of the shared folder: texts, folders with one, and packages.
func modelsBelow(t *testing.T, shared string, folders ...string) (paths []string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(shared, folder), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && strings.HasSuffix(path, ".mlpackage"):
				paths = append(paths, path)
				return fs.SkipDir
			case strings.HasSuffix(path, ".mil"):
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// TestNoOtherPlaceIsFaster estimates every real model in all places.
func TestNoOtherPlaceIsFaster(t *testing.T) {
	const small = 1 << 16 // bytes of text, in the short form
	shared := shareddir.Find(t)
	functions := 0
	for _, path := range modelsBelow(t, shared, "corpus", "converted", "cases") {
		if i, err := os.Stat(path); err != nil || testing.Short() && i.Size() > small {
			continue
		}
		name, err := filepath.Rel(shared, path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			compute, err := totals(m.Program, passes.PlaceCompute)
			if errors.Is(err, ir.ErrExtent) {
				t.Skip(err) // a value grows beyond the limit of a shape
			}
			if err != nil {
				t.Fatal(err)
			}
			engine, err := totals(m.Program, passes.PlaceEngine)
			if err != nil {
				t.Fatal(err)
			}
			auto, err := totals(m.Program, passes.PlaceAuto)
			if err != nil {
				t.Fatal(err)
			}
			for place, others := range map[string][]cost.Time{"compute": compute, "engine": engine} {
				for i, other := range others {
					if other < auto[i] {
						t.Errorf("function %d: %s us with auto, %s with %s", i, auto[i], other, place)
					}
				}
			}
			functions += len(auto)
		})
	}
	if functions == 0 {
		t.Error("no model")
	}
}

// TestWholeFunctionsAreCutWhereThatIsFaster checks models that the engine takes whole and that have operations which
// the CPU does much sooner.
func TestWholeFunctionsAreCutWhereThatIsFaster(t *testing.T) {
	shared := shareddir.Find(t)
	yolo := filepath.Join(shared, "corpus", "yolov8n-face-relu6")
	afterCast := shareddir.Patched(t, yolo, "mul-after-cast.diff")
	for _, c := range []struct {
		path string
		most cost.Time
	}{
		{afterCast, 5000 * cost.Microsecond},
		{filepath.Join(shared, "cases", "attention-original.mil"), 1400 * cost.Microsecond},
	} {
		m, err := frontend.Open(c.path, frontend.Options{AssumeWeights: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		auto, err := totals(m.Program, passes.PlaceAuto)
		if err != nil {
			t.Fatal(err)
		}
		if auto[0] > c.most {
			t.Errorf("%s: %s us, want at most %s", c.path, auto[0], c.most)
		}
	}
}
