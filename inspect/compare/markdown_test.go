package compare

import (
	"fmt"
	"strings"
	"testing"
)

// TestMarkdownIsEscapedAndBounded checks that no markup in a comment comes from the model, and that a comment has at
// most the 65536 characters that hosts accept.
func TestMarkdownIsEscapedAndBounded(t *testing.T) {
	r := &Result{
		A: Summary{
			Name:     "/home/x/`a`|b",
			Target:   "h13",
			Compiler: "0.1.0",
		}, B: Summary{Name: "b", NoPair: strings.Repeat("it does not compile\n", 9000)},
		Levels: []Coverage{{Level: MIL, Differences: 3000}, {Level: Tasks, Missing: strings.Repeat("why ", 90000)},
			{Level: Chain, Note: "as <b>words</b>"}},
	}
	for i := range 3000 {
		r.Changes = append(r.Changes, &Change{Level: MIL, Kind: Changed,
			Subject: fmt.Sprintf("relu a_%d |<script>@team #1", i), A: "/home/x/model.mil:3:4", B: `C:\y\model.mil:5:6`,
			cause:   true,
			Details: []string{"x: a -> b", "y | z\nnew line"},
			Effects: []*Change{{Level: IR, Kind: Added, Subject: "a|b"}}})
	}
	for _, most := range []int{0, 1, 12} {
		var b strings.Builder
		if err := r.Markdown(&b, TextOptions{Most: most}); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		for _, bad := range []string{"<script>", "<b>", "/home/x/model", `C:\`, " @team", " #1"} {
			if strings.Contains(s, bad) {
				t.Errorf("--max-lines %d: the comment has %q", most, bad)
			}
		}
		if len(s) > 65536 || !strings.Contains(s, "At model.mil:3:4, now model.mil:5:6.") ||
			!strings.Contains(s, " changes more; `zinc diff` prints them all.\n") ||
			!strings.Contains(s, "**3000 changes (3000 at level mil)**") {
			t.Errorf("--max-lines %d: %d bytes\n%.600s", most, len(s), s)
		}
		for l := range strings.Lines(s) {
			if n := strings.Count(l, "|") - strings.Count(l, `\|`); strings.HasPrefix(l, "| A") && n != 6 {
				t.Errorf("a row of %d bars: %s", n, l)
			}
		}
	}
}

// TestTextShowsEveryLevel checks that effects of every level are shown before more of any level, and that the rest are
// counted by level.
func TestTextShowsEveryLevel(t *testing.T) {
	c := &Change{Level: MIL, Kind: Changed, Subject: "s", cause: true}
	for _, l := range []Level{Constants, Tasks, Outputs} {
		for i := range 10 {
			c.Effects = append(c.Effects, &Change{Level: l, Kind: Changed, Subject: fmt.Sprintf("%s %d", l, i)})
		}
	}
	r := &Result{Changes: []*Change{c}}
	var b strings.Builder
	if err := r.Text(&b, TextOptions{Most: 8}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  constants: constants 3 changed\n", "  tasks: tasks 1 changed\n",
		"  outputs: outputs 1 changed\n",
		"  and 22 effects more: 6 at level constants, 8 at level tasks, 8 at level outputs\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	b.Reset()
	if err := r.Text(&b, TextOptions{}); err != nil || strings.Count(b.String(), "\n  ") != 30 {
		t.Errorf("%v\n%s", err, &b)
	}
}
