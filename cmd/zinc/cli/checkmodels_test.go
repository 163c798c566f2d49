package cli

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irmodels"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// TestCheckOfAWholeModelIsOnePage checks models of the structure and size of published ones: the output has fewer than
// 40 lines and begins its list of changes with one that saves time.
func TestCheckOfAWholeModelIsOnePage(t *testing.T) {
	const page = 40
	for i := range irmodels.Models {
		m := &irmodels.Models[i]
		if testing.Short() && m.Name == "unet" {
			continue // its rewrites are run, which takes seconds
		}
		t.Run(m.Name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := reduce.Write(t.Context(), m.Program(), dir); err != nil {
				t.Fatal(err)
			}
			status, out, errs := call(t, "check", dir)
			if status != statusOK || errs != "" {
				t.Fatalf("status %d\n%s", status, errs)
			}
			if n := strings.Count(out, "\n"); n >= page {
				t.Errorf("%d lines, want fewer than %d:\n%s", n, page, out)
			}
			if !strings.Contains(out, "What to do first\n  1. save ") {
				t.Errorf("no change that saves time is listed:\n%s", out)
			}
		})
	}
}
