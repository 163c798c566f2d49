package reduce_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/reduce"
	"github.com/zinc-compiler/zinc/transform/reduce/wrongkernel"
)

// TestLargestModel plants a kernel that is wrong for one statement of a real model
// of 2,971, and only while that one reads what it reads there.
func TestLargestModel(t *testing.T) {
	p := open(t, filepath.Join(shareddir.Find(t), "corpus", largest, "model.mil")).Program
	roundTrip(t, p, "lone.mil")
	reducePlanted(t, p, "x_279_cast_fp16")
}

// TestMadeModel does the same with as many statements made here, which need no
// shared folder: gated units with a residual, in sequence.
func TestMadeModel(t *testing.T) {
	const units = 371
	g := irbuild.New(11)
	x := g.Input(1, 8, 4, 4)
	for range 3 {
		x = g.Op("relu", "x", x)
	}
	broken := ""
	for i := range units {
		w := g.Filled(ir.FP16, func(k int64) float64 { return 0.3 * math.Sin(float64(k)*1.7+float64(i)) }, 16, 8, 1, 1)
		parts := g.All("split", "x", g.Op("conv", "x", x, "weight", w), "num_splits", 2, "axis", 1)
		y := g.Op("mul", "x", parts[0], "y", g.Op("sigmoid", "x", parts[1]))
		if i == units*2/3 {
			broken = y.Name
		}
		x = g.Op("add", "x", x, "y", y)
	}
	g.Output(x)
	reducePlanted(t, g.Program(), broken)
}

// reducePlanted reduces a program of 2,971 statements whose kernel is wrong for one
// value, and looks at the text of the result.
func reducePlanted(t *testing.T, p *ir.Program, broken string) {
	t.Helper()
	begin := time.Now()
	r, err := reduce.Run(t.Context(), p, reduce.Options{
		Jobs: 2,
		Interesting: func(ctx context.Context, c *reduce.Candidate) (bool, error) {
			return wrongkernel.Differs(ctx, c.Program(), broken)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small.mil")
	if _, err := reduce.Write(t.Context(), r.Program, path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d runs, %d cached, %d invalid; %d statements of %d\n%s", time.Since(begin), r.Runs, r.Cached,
		r.Invalid, r.Statements, r.Before, text)
	if r.Before != 2971 || r.Statements > 5 || r.Stopped != reduce.Done {
		t.Errorf("%d statements of %d are left, at most 5 of 2971 wanted; stopped: %q", r.Statements, r.Before,
			r.Stopped)
	}
	small, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	if err := ir.Verify(small.Program); err != nil {
		t.Error(err)
	}
	if yes, err := wrongkernel.Differs(t.Context(), small.Program, broken); !yes || err != nil {
		t.Errorf("the text of the result is not interesting: %v, %v", yes, err)
	}
}
