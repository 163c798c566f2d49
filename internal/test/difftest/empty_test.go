package difftest_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint"
	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/interp/conformance"
	"github.com/zinc-compiler/zinc/target"
)

// judged compiles a program, compares it with the reference, proves it and looks for hazards. It returns an error for a
// panic and for a comparison that fails.
func judged(t *testing.T, p *ir.Program, o compile.Options) (err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	r, err := verify.Run(t.Context(), ir.CloneProgram(p), verify.Options{Compile: o, Seed: 1, Prove: true})
	if fault := (*interp.Error)(nil); errors.As(err, &fault) {
		return nil // the values that the operation takes are not there
	}
	if err != nil {
		return err
	}
	if r.Verdict == verify.Fail {
		return fmt.Errorf("beyond the bound: %v", r.Failed())
	}
	if r.Proof.Verdict == prove.Wrong {
		return r.Proof.Err()
	}
	_, err = lint.Run(t.Context(), ir.CloneProgram(p), lint.Options{Compile: o})
	return err
}

// TestReductionsOfNothing judges each reduction of tensors without elements, along axes with and without extent.
func TestReductionsOfNothing(t *testing.T) {
	for _, op := range []string{"sum", "mean", "max", "min", "prod", "l1_norm", "l2_norm", "sum_square", "log_sum",
		"log_sum_exp", "argmax", "argmin"} {
		for _, shape := range [][]int64{{2, 0}, {0, 3}, {0, 0}, {2, 0, 3}, {1, 4, 0, 8}} {
			for axis := range shape {
				for _, keep := range []bool{true, false} {
					g := irbuild.New(1)
					x := g.Op("slice_by_size", "x", g.Input(full(shape)...), "begin", make([]int, len(shape)), "size",
						shape)
					args := []any{"x", x, "axes", []int{axis}, "keep_dims", keep}
					if op[:3] == "arg" {
						args[2], args[3] = "axis", axis
					}
					vs, err := g.Try("reduce_"+op, args...)
					if err != nil {
						t.Fatalf("%s of %v along %d: %v", op, shape, axis, err)
					}
					g.Output(vs[0])
					if err := judged(t, g.Program(), compile.Options{Target: target.H13}); err != nil {
						t.Errorf("%s of %v along %d: %v", op, shape, axis, err)
					}
				}
			}
		}
	}
}

// full replaces the extents of 0 in a shape.
func full(shape []int64) []int64 {
	s := slices.Clone(shape)
	for i, n := range s {
		s[i] = max(n, 1)
	}
	return s
}

// TestOperationsOnNothing judges the programs of the conformance cases with one extent of one input set to 0, where the
// shape rules allow it.
func TestOperationsOnNothing(t *testing.T) {
	tried := 0
	for i, dir := range conformance.Dirs(t) {
		if i%testform.Of(32, 4, 1) != 0 {
			continue
		}
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range conformance.Emptied(m.Program) {
			tried++
			for _, o := range []compile.Options{{}, {Precision: "fp16", Place: passes.PlaceEngine}} {
				o.Target = target.H13
				if err := judged(t, p, o); err != nil {
					t.Errorf("%s/%s: %v", filepath.Base(dir), name, err)
				}
			}
		}
		m.Close()
	}
	if tried == 0 {
		t.Error("no extent can be 0")
	}
	t.Logf("%d programs", tried)
}
