package reduce_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/planted"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/reduce"
)

// TestLargestModel plants a kernel that is wrong for one statement of a model of
// 2,971, and only while that one reads what it reads there.
func TestLargestModel(t *testing.T) {
	m := open(t, filepath.Join(shareddir.Find(t), "corpus", "parakeet-eou-encoder-1280ms", "model.mil"))
	begin := time.Now()
	r, err := reduce.Run(t.Context(), m.Program, reduce.Options{
		Jobs: 2,
		Interesting: func(ctx context.Context, c *reduce.Candidate) (bool, error) {
			return planted.Differs(ctx, c.Program(), "x_279_cast_fp16")
		},
		Progress: func(p reduce.Progress) { t.Logf("%8s %+v", time.Since(begin).Round(time.Millisecond), p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d runs, %d cached, %d invalid; %d statements of %d", time.Since(begin), r.Runs, r.Cached, r.Invalid, r.Statements, r.Before)
	path := filepath.Join(t.TempDir(), "small.mil")
	if _, err := reduce.Write(t.Context(), r.Program, path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	if r.Statements > 5 || r.Stopped != reduce.Done {
		t.Errorf("%d statements are left, at most 5 wanted; stopped: %q", r.Statements, r.Stopped)
	}
	small, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	if err := ir.Verify(small.Program); err != nil {
		t.Error(err)
	}
	if yes, err := planted.Differs(t.Context(), small.Program, "x_279_cast_fp16"); !yes || err != nil {
		t.Errorf("the text of the result is not interesting: %v, %v", yes, err)
	}
}
