package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/node"
)

// Bounds of the report on a pass: pairs of lines, subjects in a line, and bytes of a line of a program.
const (
	maxLines     = 8
	maxSubjects  = 4
	maxLineBytes = 240
)

// pipeline is one run of the passes: of a function in one configuration of its shapes.
type pipeline struct {
	key, function string
	shots         []shot
}

// pipelines splits a trace into runs, each of which begins with the first pass.
func (t *trace) pipelines() (out []pipeline) {
	nth := map[string]int{}
	for i := range t.shots {
		if i == 0 || t.shots[i].pass == t.shots[0].pass {
			f := t.shots[i].function
			x := pipeline{key: f, function: f}
			if nth[f]++; nth[f] > 1 {
				x.key += " of configuration " + strconv.Itoa(nth[f])
			}
			out = append(out, x)
		}
		last := &out[len(out)-1]
		last.shots = append(last.shots, t.shots[i])
	}
	return out
}

func passNames(shots []shot) []string {
	return keysOf(shots, func(s *shot) string { return s.pass })
}

// passes compares the programs after each pass that both sides ran.
func (p *pairing) passes() (out []*Change, err error) {
	a, b := p.a.trace.pipelines(), p.b.trace.pipelines()
	to, from := matchBy(a, b, func(x *pipeline) string { return x.key })
	listed := false
	for i := range a {
		if to[i] < 0 {
			out = append(out, &Change{Level: Passes, Kind: Removed, Subject: "program of " + a[i].key})
			continue
		}
		x, y := &a[i], &b[to[i]]
		if !listed {
			listed = true
			out = append(out, passList(passNames(x.shots), passNames(y.shots))...)
		}
		if c := p.departure(x, y); c != nil {
			out = append(out, c)
		}
	}
	for j := range b {
		if from[j] < 0 {
			out = append(out, &Change{Level: Passes, Kind: Added, Subject: "program of " + b[j].key})
		}
	}
	return out, nil
}

// passList compares the lists of passes that ran.
func passList(a, b []string) (out []*Change) {
	if slices.Equal(a, b) {
		return nil
	}
	behind := func(list []string, i int) string {
		if i == 0 {
			return "at first"
		}
		return "after " + list[i-1]
	}
	var d []string
	to, from := match(a, b)
	for i := range a {
		if to[i] < 0 {
			d = append(d, a[i]+": only A runs it, "+behind(a, i))
		}
	}
	for j := range b {
		if from[j] < 0 {
			d = append(d, b[j]+": only B runs it, "+behind(b, j))
		}
	}
	for _, i := range moved(to) {
		d = append(d, a[i]+": A runs it "+behind(a, i)+", B "+behind(b, to[i]))
	}
	return []*Change{newChange(Passes, Changed, "list of passes", []string{setting(compilerVersion)}, d...)}
}

// departure compares two pipelines and reports the passes after which the programs differ.
func (p *pairing) departure(a, b *pipeline) *Change {
	number := p.renumber(a.function)
	to, _ := sequence(passNames(a.shots), passNames(b.shots))
	c := &Change{Level: Passes, Kind: Changed}
	known := map[string]bool{} // subjects already reported
	apart, reach := false, -1
	for i := range a.shots {
		if to[i] <= reach {
			continue // only one side runs it, or in another position
		}
		reach = to[i]
		d := p.between(&a.shots[i], &b.shots[reach], number)
		pass := a.shots[i].pass
		if len(d.subjects) == 0 {
			if apart && i > 0 {
				c.Details = append(c.Details, "the same difference after "+pass)
				clear(known)
			}
			apart = false
			continue
		}
		apart = true
		var more []string
		for _, s := range d.subjects {
			if !known[s] {
				known[s] = true
				more = append(more, s)
			}
		}
		if len(more) == 0 {
			continue
		}
		if c.Subject != "" {
			c.Details = append(c.Details, fmt.Sprintf("after %s: %s more: %s", pass,
				diag.Count(len(more), "line differs", "lines differ"), some(more)))
			continue
		}
		c.Subject, c.Pass = "program of "+a.key+" after pass "+pass, pass
		if i == 0 {
			c.Subject = "program of " + a.key + " as it was read"
		}
		c.Details = append(c.Details, diag.Count(len(more), "line differs", "lines differ")+": "+some(more))
		c.Details = append(c.Details, d.lines...)
		for _, s := range more {
			if k := strings.IndexByte(s, '%'); k >= 0 {
				c.names = append(c.names, qualified(sourceName(a.function), s[k+1:]))
			}
		}
	}
	if c.Subject == "" {
		return nil
	}
	return c
}

// some lists a few of the subjects.
func some(subjects []string) string {
	n := len(subjects)
	s := lineText(strings.Join(subjects[:min(n, maxSubjects)], ", "))
	if n > maxSubjects {
		s += fmt.Sprintf(" and %d others", n-maxSubjects)
	}
	return s
}

// renumber maps each line of side A to the number of the same line of side B, with B's names; other lines get numbers
// that B does not use.
func (p *pairing) renumber(fn string) []uint32 {
	a, b := p.a.trace, p.b.trace
	fn = sourceName(fn)
	out := make([]uint32, len(a.lines))
	for i, l := range a.lines {
		if len(p.renamed) > 0 {
			l = p.renamedLine(fn, l)
		}
		n, ok := b.index[l]
		if !ok {
			n = uint32(len(b.lines) + i)
		}
		out[i] = n
	}
	return out
}

// renamedLine returns a line with the names of side B.
func (p *pairing) renamedLine(fn, line string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(line, '%')
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		n := max(nameEnd(line[i:]), 1)
		name := line[i+1 : i+n]
		b.WriteString(line[:i+1])
		b.WriteString(p.now(fn, name))
		line = line[i+n:]
	}
}

// programDifference is the difference between two programs.
type programDifference struct {
	subjects []string // of the lines that differ, each once
	lines    []string // a few of them, with the side's mark
}

// between compares two programs as bags of lines, and, where these are the same, their
// order.
func (p *pairing) between(a, b *shot, number []uint32) (d programDifference) {
	left := map[uint32]int{}
	same := len(a.lines) == len(b.lines)
	for i, n := range a.lines {
		left[number[n]]++
		same = same && number[n] == b.lines[i]
	}
	if same {
		return d
	}
	var extra []uint32 // of B
	for _, n := range b.lines {
		if left[n] > 0 {
			left[n]--
		} else {
			extra = append(extra, n)
		}
	}
	now := map[string][]string{} // B's lines, by subject
	var order []string
	for _, n := range extra {
		l := p.b.trace.lines[n]
		s := subjectOf(l)
		now[s] = append(now[s], l)
		order = append(order, s)
	}
	seen := map[string]bool{}
	add := func(s string, before, after []string) {
		if seen[s] {
			return
		}
		seen[s] = true
		d.subjects = append(d.subjects, s)
		if len(d.subjects) > maxLines {
			return
		}
		for _, l := range before {
			d.lines = append(d.lines, "- "+lineText(l))
		}
		for _, l := range after {
			d.lines = append(d.lines, "+ "+lineText(l))
		}
	}
	for _, n := range a.lines {
		if left[number[n]] == 0 {
			continue
		}
		left[number[n]]--
		l := p.a.trace.lines[n]
		s := subjectOf(l)
		if len(p.renamed) > 0 {
			s = p.renamedLine(sourceName(a.function), s)
		}
		add(s, []string{l}, now[s])
	}
	for _, s := range order {
		add(s, nil, now[s])
	}
	if k := len(d.subjects) - maxLines; k > 0 {
		d.lines = append(d.lines, fmt.Sprintf("and %d others", k))
	}
	if len(d.subjects) == 0 {
		for i, n := range a.lines {
			if number[n] != b.lines[i] {
				d.subjects = []string{"order from " + subjectOf(p.a.trace.lines[n])}
				d.lines = []string{"- " + lineText(p.a.trace.lines[n]), "+ " + lineText(p.b.trace.lines[b.lines[i]])}
				break
			}
		}
	}
	return d
}

// lineText returns a line of a program for display.
func lineText(l string) string {
	l = node.Printable(strings.TrimLeft(l, " "))
	if len(l) <= maxLineBytes {
		return l
	}
	return strings.ToValidUTF8(l[:maxLineBytes], "") + " ..."
}
