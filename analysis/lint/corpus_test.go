package lint

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// readInput reads an array as a tensor of the given type.
func readInput(t *testing.T, file string, typ ir.Type) (interp.Tensor, bool) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		return interp.Tensor{}, false
	}
	a, err := npy.Decode(b)
	if err != nil {
		return interp.Tensor{}, false
	}
	d, ok := map[string]ir.DType{
		"f2": ir.FP16,
		"f4": ir.FP32,
		"i4": ir.Int32,
		"b1": ir.Bool,
		"i1": ir.Int8,
		"u1": ir.UInt8,
		"i2": ir.Int16,
		"u2": ir.UInt16,
	}[a.Type]
	if !ok {
		return interp.Tensor{}, false
	}
	x, err := interp.NewTensor(ir.TensorOf(d, a.Shape...), a.Data)
	if err != nil || d == typ.DType {
		return x, err == nil
	}
	if typ.DType.IsFloat() {
		x, err = interp.FromFloats(typ.DType, x.Floats32(), a.Shape...)
	} else {
		x, err = interp.FromInts(typ.DType, x.Ints(), a.Shape...)
	}
	return x, err == nil
}

// TestValuesOfConformanceCasesAreInTheirIntervals runs the cases of coremltools' own operation tests, which have nearly
// every operation: every value is in its interval, also with every fp16 operation on the engine.
func TestValuesOfConformanceCasesAreInTheirIntervals(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(shareddir.Find(t), "conformance", "cases", "*"))
	if err != nil || len(cases) == 0 {
		t.Skip("the shared folder has no conformance cases")
	}
	ran, ops, modelled := 0, map[string]bool{}, map[string]bool{}
	for i, dir := range cases {
		if testing.Short() && i%7 != 0 {
			continue
		}
		var c struct{ Inputs []struct{ Name string } }
		text, err := os.ReadFile(filepath.Join(dir, "case.json"))
		if err != nil || json.Unmarshal(text, &c) != nil {
			continue
		}
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			continue // the reader's tests deal with models that it refuses
		}
		f, err := m.Program.Entry("")
		if err != nil {
			m.Close()
			continue
		}
		in := tensors{}
		for _, p := range f.Body.Params {
			if x, ok := readInput(t, filepath.Join(dir, "in_"+p.Name+".npy"), p.Type); ok {
				in[p.Name] = x
			}
		}
		for _, engine := range []bool{false, true} {
			ir.Walk(f, func(op *ir.Op) {
				ops[op.Def.Name] = true
				if Modelled(op.Def.Operation) {
					modelled[op.Def.Name] = true
				}
				if engine && len(op.Results) > 0 && op.Results[0].Type.DType == ir.FP16 {
					op.Place.Unit = ir.Engine
				}
			})
			if n, bad := outside(f, in); bad != "" {
				t.Errorf("%s: %s", filepath.Base(dir), bad)
			} else if n > 0 {
				ran++
			}
		}
		m.Close()
	}
	t.Logf("%d runs, %d operations, %d of them modelled", ran, len(ops), len(modelled))
	if !testing.Short() && (ran < 1000 || len(modelled) < 100) {
		t.Errorf("only %d runs of %d modelled operations", ran, len(modelled))
	}
}

// TestConformanceCasesAreLinted lints the same cases in full: every operation is checked by rules, search and engine,
// and every finding has its texts.
func TestConformanceCasesAreLinted(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(shareddir.Find(t), "conformance", "cases", "*"))
	if err != nil || len(cases) == 0 {
		t.Skip("the shared folder has no conformance cases")
	}
	ran, states := 0, map[string]int{}
	for i, dir := range cases {
		if i%7 != 0 {
			continue
		}
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			continue
		}
		o := options
		o.Precision = "fp16"
		r, err := Run(context.Background(), m.Program, Options{Compile: o, Workers: 1, Work: 3e6, Source: m.Source})
		m.Close()
		if err != nil {
			t.Logf("%s: %v", filepath.Base(dir), err) // a program that zinc does not compile
			continue
		}
		ran++
		for _, f := range r.Functions {
			for _, x := range f.Findings {
				states[x.State]++
				if !slices.ContainsFunc(Rules, func(r Rule) bool {
					return r.Name == x.Rule
				}) || x.Why == "" || x.Instead == "" || x.Limit == "" || (x.State == Shown) != (x.Evidence != nil) ||
					x.State != Shown && x.Note == "" {
					t.Errorf("%s: %+v", filepath.Base(dir), x)
				}
			}
		}
	}
	t.Logf("%d programs: %v", ran, states)
	if ran < 100 {
		t.Errorf("only %d programs were linted", ran)
	}
}

// TestValuesOfRealModelsAreInTheirIntervals runs real models on random inputs.
func TestValuesOfRealModelsAreInTheirIntervals(t *testing.T) {
	ran := 0
	for _, name := range []string{"silero-v6-fp16", "silero-v6-int8", "mnist-cnn-inline", "espresso-full-fused",
		"espresso-matmul", "coremlrs-test-linear", "fluid-token-duration"} {
		m, err := frontend.Open(filepath.Join(shareddir.Find(t), "corpus", name), frontend.Options{})
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		f, err := m.Program.Entry("")
		if err != nil {
			t.Fatal(err)
		}
		static := true
		ranges := map[string]Interval{}
		for _, p := range f.Body.Params {
			static = static && p.Type.Static()
			ranges[p.Name] = witness.DefaultRange(p.Type)
		}
		ir.Walk(f, func(op *ir.Op) {
			if len(op.Results) > 0 && op.Results[0].Type.DType == ir.FP16 {
				op.Place.Unit = ir.Engine
			}
		})
		if static && contains(t, f, ranges, 5, 3) > 0 {
			ran++
		}
		m.Close()
	}
	if ran < 4 {
		t.Errorf("only %d models ran", ran)
	}
}
