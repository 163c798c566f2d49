package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// maxMarkdown bounds the bytes of the changes in a comment; hosts accept 65536 characters.
const maxMarkdown = 40 << 10

// Markdown writes the result for a comment in continuous integration: a heading for each change, and a table of its
// effects. It is truncated to the length of a comment.
func (r *Result) Markdown(w io.Writer, o TextOptions) error {
	md := report.MarkdownText
	var b bytes.Buffer
	b.WriteString("### zinc diff\n\n| side | model or pair | target | settings | placement |\n| --- | --- | --- | " +
		"--- | --- |\n")
	for _, x := range []struct {
		side string
		s    *Summary
	}{{"A", &r.A}, {"B", &r.B}} {
		settings := x.s.Settings
		if x.s.Compiler != "" {
			settings = append([]string{"zinc " + x.s.Compiler}, settings...)
		}
		last := x.s.Placement
		if x.s.NoPair != "" {
			last = x.s.NoPair
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", x.side, md(brief(x.s.Name)), md(x.s.Target),
			md(brief(strings.Join(settings, ", "))), md(cut(last)))
	}
	for i, l := range r.limitations() {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s\n", md(cut(l)))
	}
	if r.Same {
		b.WriteString("\n**No difference.**\n")
		_, err := w.Write(b.Bytes())
		return err
	}
	fmt.Fprintf(&b, "\n**%s**\n", r.counted())
	if len(r.Cost) > 0 {
		b.WriteString("\n| of a call, estimated | A | B | change |\n| --- | ---: | ---: | ---: |\n")
		for i := range r.Cost {
			f := &r.Cost[i]
			x, y := f.sides()
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Name, x, y, f.change())
		}
	}
	for i, c := range r.Changes {
		var x bytes.Buffer
		r.markdownChange(&x, c, &o)
		if b.Len()+x.Len() > maxMarkdown {
			fmt.Fprintf(&b, "\nand %s more; `zinc diff` prints them all.\n", diag.Count(len(r.Changes)-i, "change",
				"changes"))
			break
		}
		b.Write(x.Bytes())
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Result) markdownChange(b *bytes.Buffer, c *Change, o *TextOptions) {
	md := report.MarkdownText
	fmt.Fprintf(b, "\n#### %s\n\n", md(c.title()))
	switch a, now := inFile(c.A), inFile(c.B); {
	case a != "" && now != "" && a != now:
		fmt.Fprintf(b, "At %s, now %s.\n\n", md(a), md(now))
	case a+now != "":
		at := a
		at = cmp.Or(at, now)
		fmt.Fprintf(b, "At %s.\n\n", md(at))
	}
	for _, d := range o.details(c) {
		fmt.Fprintf(b, "- %s\n", md(d))
	}
	shown, rest := o.effects(c)
	if len(shown) > 0 {
		b.WriteString("\n| level | what it does | how |\n| --- | --- | --- |\n")
		for _, e := range shown {
			var how []string
			for _, d := range o.details(e) {
				how = append(how, md(d))
			}
			fmt.Fprintf(b, "| %s | %s %s | %s |\n", e.Level, md(e.Subject), e.Kind, strings.Join(how, "<br>"))
		}
	}
	if rest != "" {
		fmt.Fprintf(b, "\nand %s.\n", md(rest))
	}
	if same := r.leaves(c); len(same) > 0 {
		fmt.Fprintf(b, "\nNo effect on %s.\n", strings.Join(same, ", "))
	}
}

// details returns the details of a change to write.
func (o *TextOptions) details(c *Change) []string {
	if n := len(c.Details); o.Most > 0 && n > o.Most {
		return append(c.Details[:o.Most:o.Most], fmt.Sprintf("and %d more", n-o.Most))
	}
	return c.Details
}

// maxReason bounds the bytes of the reason why something is missing, such as a list of errors.
const maxReason = 1 << 10

func cut(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "") + " ..."
}

// inFile returns a position without folders, which differ between checkouts.
func inFile(place string) string {
	return place[strings.LastIndexAny(place, `/\\`)+1:]
}
