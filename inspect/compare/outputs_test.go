package compare

import (
	"slices"
	"strings"
	"testing"
)

// TestRunsReportProgress checks that runs report their progress up to the number of tasks.
func TestRunsReportProgress(t *testing.T) {
	dir := digits(t)
	a, b := open(t, dir, "h13"), open(t, changed(t, dir, nil, setWeight(t, "conv2_weight", 100, 0x4400)), "h13")
	last := map[string][2]int{}
	var stages []string
	compared(t, a, b, Options{Outputs: true, Seed: 1, Levels: []Level{}, Progress: func(stage string, done, total int) {
		if !slices.Contains(stages, stage) {
			stages = append(stages, stage)
		}
		if done > total || done != last[stage][0]+1 {
			t.Errorf("%s: %d of %d after %d", stage, done, total, last[stage][0])
		}
		last[stage] = [2]int{done, total}
	}})
	if want := []string{"run of side A, tasks", "run of side B, tasks",
		"run of side A to the task that differs"}; !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q", stages, want)
	}
	for s, x := range last {
		if x[0] != x[1] {
			t.Errorf("%s ends at %d of %d", s, x[0], x[1])
		}
	}
	if n := last[stages[2]][0]; n != 3 {
		t.Errorf("side A runs %d tasks again, want 3: task 2 departs", n)
	}
}

// TestEqualPairsAreNotRun compares a pair with itself.
func TestEqualPairsAreNotRun(t *testing.T) {
	a := open(t, digits(t), "h13")
	expect(t, compared(t, a, open(t, digits(t), "h13"), Options{
		Outputs:  true,
		Progress: func(stage string, _, _ int) { t.Errorf("%s", stage) },
	}))
}

// TestRenamedProceduresAreCompared checks that a procedure with another name, because there are more functions, is the
// same procedure, and that a function of only one side is not run.
func TestRenamedProceduresAreCompared(t *testing.T) {
	body := stmt(small, "a", "relu", "x = x", "a") + stmt(small, "y", "sigmoid", "x = a", "y")
	one, two := function("main", small, body, "y"), function("other", small, body, "y")
	a := open(t, network(t, one), "h13")
	if r := compared(t, a, open(t, network(t, one+two), "h13"), Options{
		Outputs: true,
		Levels:  []Level{Settings, Tasks},
	}); len(only(Outputs, r.Changes)) > 0 {
		t.Errorf("%q", lines(r.Changes))
	}
	r := compared(t, a, open(t, network(t, strings.Replace(one, "sigmoid(", "tanh(", 1)+two), "h13"),
		Options{Outputs: true, Levels: []Level{MIL}})
	got := only(Outputs, r.Changes)
	if len(got) != 1 {
		t.Fatalf("%q", lines(r.Changes))
	}
	expectDetail(t, got[0].Details, "first task with another result: task 1 of ")
	expectDetail(t, got[0].Details, "the first at channel 0, row 0, column 0: ")
	expectDetail(t, got[0].Details, " of the largest magnitude")
}

func TestElementsAreNamedByTheirIndices(t *testing.T) {
	for _, c := range []struct {
		extent [5]int
		i      int
		want   string
	}{
		{[5]int{1, 1, 1, 1, 1}, 0, "is the only one"},
		{[5]int{1, 1, 3, 1, 5}, 7, "at channel 1, column 2"},
		{[5]int{2, 1, 3, 4, 5}, 119, "at group 1, channel 2, row 3, column 4"},
	} {
		if got := element(c.extent, c.i); got != c.want {
			t.Errorf("%v %d: %q, want %q", c.extent, c.i, got, c.want)
		}
	}
}
