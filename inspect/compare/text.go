package compare

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// TextOptions configure the text of a Result.
type TextOptions struct {
	// Most bounds the lines of details, and of effects, of one change; 0 means no bound.
	Most int
}

// Text writes the result as text, one paragraph per change.
func (r *Result) Text(w io.Writer, o TextOptions) error {
	b := bufio.NewWriter(w)
	for _, x := range []struct {
		side string
		s    *Summary
	}{{"A", &r.A}, {"B", &r.B}} {
		fmt.Fprintf(b, "%s: %s", x.side, x.s.Name)
		if x.s.Target != "" {
			fmt.Fprintf(b, ", %s", x.s.Target)
		}
		if x.s.Compiler != "" {
			fmt.Fprintf(b, ", zinc %s", x.s.Compiler)
		}
		for _, s := range x.s.Settings {
			fmt.Fprintf(b, ", %s", s)
		}
		if x.s.NoPair != "" {
			fmt.Fprintf(b, "; %s", x.s.NoPair)
		}
		fmt.Fprintln(b)
	}
	for _, l := range r.limitations() {
		fmt.Fprintln(b, l)
	}
	if r.Same {
		fmt.Fprintln(b, "no difference")
		return b.Flush()
	}
	fmt.Fprintln(b, r.counted())
	r.costText(b)
	for _, c := range r.Changes {
		fmt.Fprintln(b)
		c.write(b, "", o)
		r.does(b, c)
		shown, rest := o.effects(c)
		for _, e := range shown {
			e.write(b, "  ", o)
		}
		if rest != "" {
			fmt.Fprintf(b, "  and %s\n", rest)
		}
	}
	return b.Flush()
}

// fewest is the number of effects that each level gets before any gets more.
const fewest = 2

// effects returns the effects of a change to write, and a description of the rest. It selects the first ones of each
// level, then others in order up to the bound.
func (o *TextOptions) effects(c *Change) (shown []*Change, rest string) {
	if o.Most == 0 || len(c.Effects) <= o.Most {
		return c.Effects, ""
	}
	of, first, left := map[Level]int{}, 0, map[Level]int{}
	for _, e := range c.Effects {
		if of[e.Level]++; of[e.Level] <= fewest {
			first++
		}
	}
	more := o.Most - first
	n := map[Level]int{}
	var levels []string
	for _, e := range c.Effects {
		if n[e.Level]++; n[e.Level] <= fewest {
			shown = append(shown, e)
		} else if more > 0 {
			more--
			shown = append(shown, e)
		} else {
			left[e.Level]++
		}
	}
	for _, l := range append(LevelNames(), string(Outputs)) {
		if k := left[Level(l)]; k > 0 {
			levels = append(levels, fmt.Sprintf("%d at level %s", k, l))
		}
	}
	return shown, diag.Count(len(c.Effects)-len(shown), "effect", "effects") + " more: " + strings.Join(levels, ", ")
}

// title returns what changed, and how.
func (c *Change) title() string {
	s := string(c.Level) + ": " + c.Subject
	if c.Level != Together {
		s += " " + string(c.Kind)
	}
	return s
}

// write writes a change: what, where, and its details.
func (c *Change) write(b *bufio.Writer, indent string, o TextOptions) {
	fmt.Fprintf(b, "%s%s", indent, c.title())
	switch {
	case c.A != "" && c.B != "":
		fmt.Fprintf(b, " (%s, now %s)", c.A, c.B)
	case c.A+c.B != "":
		fmt.Fprintf(b, " (%s)", c.A+c.B)
	}
	if len(c.Details) == 1 {
		fmt.Fprintf(b, ": %s\n", c.Details[0])
		return
	}
	fmt.Fprintln(b)
	for _, d := range o.details(c) {
		fmt.Fprintf(b, "%s  %s\n", indent, d)
	}
}

// counted describes the number of changes.
func (r *Result) counted() string {
	n := len(r.Changes)
	together := ""
	if n > 0 && r.Changes[n-1].Level == Together {
		n, together = n-1, ", and what they do together"
	}
	s := diag.Count(n, "change", "changes")
	if n > manyCauses {
		of := map[Level]int{}
		for _, c := range r.Changes[:n] {
			of[c.Level]++
		}
		var parts []string
		for _, l := range append(LevelNames(), string(Outputs)) {
			if k := of[Level(l)]; k > 0 {
				parts = append(parts, fmt.Sprintf("%d at level %s", k, l))
			}
		}
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	return s + together
}

// manyCauses is the number of changes from which they are counted by level.
const manyCauses = 8

// limitations lists what was not compared, or less precisely than usual, and why.
func (r *Result) limitations() (out []string) {
	for i := range r.Levels {
		if l := &r.Levels[i]; l.Missing != "" && !told(r.Levels[:i], l.Missing) {
			var names []string
			for _, x := range r.Levels[i:] {
				if x.Missing == l.Missing {
					names = append(names, string(x.Level))
				}
			}
			out = append(out, fmt.Sprintf("not compared: %s: %s", strings.Join(names, ", "), l.Missing))
		}
	}
	for i := range r.Levels {
		if l := &r.Levels[i]; l.Note != "" {
			out = append(out, fmt.Sprintf("%s: %s", l.Level, l.Note))
		}
	}
	return out
}

// does writes the levels that a cause does not change.
func (r *Result) does(b *bufio.Writer, c *Change) {
	if same := r.leaves(c); len(same) > 0 {
		fmt.Fprintf(b, "  no effect on %s\n", strings.Join(same, ", "))
	}
}

// leaves lists the levels that a cause does not change.
func (r *Result) leaves(c *Change) (same []string) {
	if !c.cause {
		return nil
	}
	touched := map[Level]bool{c.Level: true}
	for _, e := range c.Effects {
		touched[e.Level] = true
	}
	for _, l := range r.Levels {
		switch l.Level {
		case Settings, MIL, Limits:
		default:
			if l.Missing == "" && !touched[l.Level] {
				same = append(same, string(l.Level))
			}
		}
	}
	return same
}

// told reports whether an earlier level was omitted for the same reason.
func told(before []Coverage, why string) bool {
	for i := range before {
		if before[i].Missing == why {
			return true
		}
	}
	return false
}
