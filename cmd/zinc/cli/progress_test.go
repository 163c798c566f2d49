package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
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

// TestProgressOnTerminalSaysWhatIsLeft has a clock of its own: 2 s a step.
func TestProgressOnTerminalSaysWhatIsLeft(t *testing.T) {
	var b bytes.Buffer
	clock := time.Unix(0, 0)
	p := &progress{w: &b, terminal: true, asked: true, begin: clock, now: func() time.Time { return clock }}
	for i := range 4 {
		p.step("run", i+1, 8)
		clock = clock.Add(2 * time.Second)
	}
	p.step("pack", 0, 0)
	last, next := "run: 4 of 8, 50 %, 6s, 6s left", "pack: 0 of 0"
	want := "\rrun: 1 of 8, 12 %\rrun: 2 of 8, 25 %, 2s, 6s left\rrun: 3 of 8, 37 %, 4s, 7s left" +
		"\r" + last + "\r" + next + strings.Repeat(" ", len(last)-len(next))
	if b.String() != want {
		t.Errorf("got %q\nwant %q", &b, want)
	}
}
