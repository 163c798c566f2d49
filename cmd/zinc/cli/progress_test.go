package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestProgressWithoutTerminalPrintsFirstAndLastStep checks that each stage prints its first and last step.
func TestProgressWithoutTerminalPrintsFirstAndLastStep(t *testing.T) {
	var b bytes.Buffer
	e := &env{err: &b}
	p := e.newProgress(true)
	for i := range 5 {
		p.step("pack", i+1, 5)
	}
	p.step("write", 1, 1)
	p.end()
	if got, want := strings.Split(strings.TrimSpace(b.String()), "\n"), []string{"zinc: pack: 1 of 5",
		"zinc: pack: 5 of 5", "zinc: write: 1 of 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	b.Reset()
	p = e.newProgress(false)
	p.step("pack", 1, 1)
	if b.Len() > 0 {
		t.Errorf("printed %q without --progress", &b)
	}
}
