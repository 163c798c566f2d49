package interp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// misses are the cases whose values differ; docs/deviations.md has the reasons.
// The last part of a name counts the cases of one test over the operation sets.
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

// conformanceCase is what the test reads of a case.json.
type conformanceCase struct {
	Inputs, States []struct{ Name, DType string }
	Outputs        []struct{ Name, DType, Check string }
	Iterations     int
	Tolerance      struct{ Atol, Rtol float64 }
}

// TestConformance runs the conformance cases: programs, inputs and values of
// coremltools' own tests of its operations. It holds the results to the types
// and the tolerances that the cases state.
func TestConformance(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(shareddir.Find(t), "conformance", "cases", "*"))
	if err != nil || len(cases) == 0 {
		t.Skip("the shared folder has no conformance cases")
	}
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

// TestMissesAreDocumented holds docs/deviations.md to the list of misses.
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
	var c conformanceCase
	text, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
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
	inputs, states := map[string]interp.Tensor{}, map[string]interp.Tensor{}
	for _, in := range c.Inputs {
		if inputs[in.Name], err = readTensor(filepath.Join(dir, "in_"+in.Name+".npy"), in.DType); err != nil {
			return err
		}
	}
	for i := range max(1, c.Iterations) {
		got, err := prog.Run(context.Background(), inputs, interp.Options{States: states})
		if err != nil {
			return err
		}
		prefix := ""
		if i > 0 {
			prefix = fmt.Sprintf("iter%d_", i)
		}
		for _, o := range c.Outputs {
			r, ok := got[o.Name]
			if !ok {
				return fmt.Errorf("no output %s", o.Name)
			}
			if r.Type.DType.String() != o.DType {
				return fmt.Errorf("output %s is %s, want elements of %s", o.Name, r.Type, o.DType)
			}
			if o.Check == "none" {
				continue
			}
			want, err := readTensor(filepath.Join(dir, prefix+"out_"+o.Name+".npy"), o.DType)
			if err != nil {
				return err
			}
			if !slices.Equal(r.Type.Shape, want.Type.Shape) {
				return fmt.Errorf("prediction %d: output %s has shape %s, want %s", i, o.Name,
					ir.ShapeString(r.Type.Shape), ir.ShapeString(want.Type.Shape))
			}
			if o.Check == "shape" {
				continue
			}
			if err := compareTensors(r, want, c.Tolerance.Atol, c.Tolerance.Rtol); err != nil {
				return fmt.Errorf("prediction %d: output %s: %w", i, o.Name, err)
			}
		}
	}
	return nil
}

// readTensor reads an array that must hold elements of the given type.
func readTensor(file, dtype string) (interp.Tensor, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return interp.Tensor{}, err
	}
	a, err := npy.Decode(b)
	if err != nil {
		return interp.Tensor{}, fmt.Errorf("%s: %w", file, err)
	}
	d, ok := ir.ParseDType(dtype)
	if !ok || npy.Size(a.Type)*8 != max(8, d.Bits()) {
		return interp.Tensor{}, fmt.Errorf("%s holds %s, want %s", file, a.Type, dtype)
	}
	return interp.NewTensor(ir.TensorOf(d, a.Shape...), a.Data)
}

// compareTensors compares integers and truth values exactly, and floats within
// atol + rtol |want|; a NaN matches a NaN alone.
func compareTensors(got, want interp.Tensor, atol, rtol float64) error {
	if !want.Type.DType.IsFloat() {
		if !got.Equal(want) {
			return fmt.Errorf("%v, want %v", got.Ints(), want.Ints())
		}
		return nil
	}
	gs, ws := got.Floats32(), want.Floats32()
	for i, w := range ws {
		g, w := float64(gs[i]), float64(w)
		if g == w || g != g && w != w {
			continue
		}
		if math.IsInf(g, 0) || math.IsInf(w, 0) || !(math.Abs(g-w) <= atol+rtol*math.Abs(w)) {
			return fmt.Errorf("element %d of %d is %v, want %v", i, len(ws), g, w)
		}
	}
	return nil
}
