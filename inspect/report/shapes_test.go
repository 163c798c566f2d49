package report

import (
	"testing"

	"github.com/zinc-compiler/zinc/compile"
)

// TestShapesNameThoseThatTheNumbersAreFor has inputs with a range, with listed shapes, and with an unknown dimension.
func TestShapesNameThoseThatTheNumbersAreFor(t *testing.T) {
	for _, c := range []struct {
		r    compile.Report
		want string
	}{
		{compile.Report{}, ""},
		{compile.Report{Flexible: []compile.FlexibleInput{
			{Function: "main", Input: "x", Shape: []int64{1, 64, 8}, Ranges: [][2]int64{{1, 1}, {1, 128}, {8, 8}}}}},
			"For x = 1x64x8; others with --shape x=1xNx8"},
		{compile.Report{Flexible: []compile.FlexibleInput{
			{Function: "main", Input: "x", Shape: []int64{4, 8}, Listed: [][]int64{{2, 8}}}}},
			"For x = 4x8; others with --shape x=2x8"},
		{compile.Report{Flexible: []compile.FlexibleInput{{Function: "main", Input: "x", Shape: []int64{-1, 8}}}},
			"For x = ?x8: work on unknown dimensions has no time and stays on the CPU; others with --shape x=Nx8"},
	} {
		if got := Shapes(&c.r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestNothingSaysWhatWasTried counts rewrites and places, and names options.
func TestNothingSaysWhatWasTried(t *testing.T) {
	s := &Search{Tried: []Tried{
		{Name: "a", Places: 3}, {Name: "precision fp16", Option: true}, {Name: "b", Places: 1},
	}}
	if got, want := s.Nothing(), "no change found: tried 2 rewrites at 4 places and precision fp16; none makes "+
		"the model faster. The largest costs are:"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
