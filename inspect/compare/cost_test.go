package compare

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestCostIsThatOfTheReports replaces the first activation by one that the engine does not have: that takes another
// dispatch and a call of the CPU.
func TestCostIsThatOfTheReports(t *testing.T) {
	a := open(t, digits(t), "h13")
	b := open(t, changed(t, digits(t), replace("relu(x = conv1)", "sin(x = conv1)"), nil), "h13")
	r := compared(t, a, b, Options{})
	want := map[string][2]float64{
		"time of a call":  {float64(a.report.CallTime()) / 1000, float64(b.report.CallTime()) / 1000},
		"time of the CPU": {0, float64(b.report.CPU) / 1000},
		"dispatches":      {float64(a.report.Dispatches), float64(b.report.Dispatches)},
		"tasks":           {float64(a.report.Tasks), float64(b.report.Tasks)},
	}
	for _, f := range r.Cost {
		if w, ok := want[f.Name]; ok && (f.A != w[0] || f.B != w[1]) {
			t.Errorf("%s is %g and %g, want %g", f.Name, f.A, f.B, w)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("there is no figure %v", want)
	}
	if !slices.ContainsFunc(r.Changes[0].Effects, func(c *Change) bool { return c.Level == Cost }) {
		t.Errorf("the change has no effect at level cost: %v", lines(r.Changes))
	}
	var text, md bytes.Buffer
	if err := r.Text(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Markdown(&md, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "\ncost: time of a call: 213 us (200 to 240, M1) -> ") ||
		!strings.Contains(md.String(), "\n| time of a call | 213 us (200 to 240, M1) | ") {
		t.Errorf("the text\n%s\nthe comment\n%s", &text, &md)
	}
	if l := r.CostLines(); len(l) == 0 || !strings.HasPrefix(l[0], "time of a call: 213 us (200 to 240, M1) -> ") {
		t.Errorf("the lines are %q", l)
	}
	if r := compared(t, a, a, Options{}); len(r.Cost) == 0 || !r.Same {
		t.Errorf("a model against itself: %+v", r)
	}
}
