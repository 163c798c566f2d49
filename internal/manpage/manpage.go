package manpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// section is the section of the manual that user commands are in.
const section = "1"

// Page is one page.
type Page struct {
	Name string // of its file, such as zinc-run.1
	Text []byte
}

// Pages returns the pages of a command and those below it, the command's own first.
// source is the program with its version, as the foot of a page names it. Commands
// that help does not list have none.
func Pages(root *cobra.Command, source string) []Page {
	pages := []Page{{fileName(root), page(root, source)}}
	for _, c := range listed(root) {
		pages = append(pages, Pages(c, source)...)
	}
	return pages
}

// listed returns the commands below c that help lists, by name.
func listed(c *cobra.Command) []*cobra.Command {
	var out []*cobra.Command
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() && !s.IsAdditionalHelpTopicCommand() {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	return out
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func fileName(c *cobra.Command) string { return pageName(c) + "." + section }

// writer writes roff.
type writer struct{ strings.Builder }

// escape makes text mean itself.
func escape(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	return strings.ReplaceAll(s, "-", `\-`)
}

// text writes a line of text, which a period or a quote at its begin does not turn
// into a request.
func (w *writer) text(s string) {
	s = escape(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	w.WriteString(s + "\n")
}

func (w *writer) request(name string, args ...string) {
	w.WriteString("." + name)
	for _, a := range args {
		w.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `""`) + `"`)
	}
	w.WriteString("\n")
}

// paragraphs writes text of which empty lines part paragraphs and indented lines
// stand as they are.
func (w *writer) paragraphs(s string) {
	verbatim := false
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		indented := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
		if indented != verbatim {
			if indented {
				w.request("PP")
				w.request("nf")
			} else {
				w.request("fi")
			}
			verbatim = indented
		}
		if strings.TrimSpace(line) == "" {
			w.request("PP")
			continue
		}
		w.text(line)
	}
	if verbatim {
		w.request("fi")
	}
}

func page(c *cobra.Command, source string) []byte {
	w := &writer{}
	w.request("TH", strings.ToUpper(pageName(c)), section, "", source, "zinc")
	w.request("SH", "NAME")
	w.text(pageName(c) + " - " + c.Short)
	w.request("SH", "SYNOPSIS")
	if c.Runnable() {
		w.request("B", c.UseLine())
	}
	below := listed(c)
	if len(below) > 0 {
		w.request("PP")
		w.request("B", c.CommandPath()+" COMMAND")
	}
	w.request("SH", "DESCRIPTION")
	w.paragraphs(description(c))
	if len(below) > 0 {
		w.request("SH", "COMMANDS")
		for _, s := range below {
			w.request("TP")
			w.request("B", s.Name())
			w.text(s.Short)
		}
	}
	c.InitDefaultHelpFlag()
	w.flags("OPTIONS", c.NonInheritedFlags())
	w.flags("OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.HasExample() {
		w.request("SH", "EXAMPLES")
		w.request("nf")
		for _, line := range strings.Split(strings.Trim(c.Example, "\n"), "\n") {
			w.text(line)
		}
		w.request("fi")
	}
	w.also(c, below)
	return []byte(w.String())
}

func description(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// flags writes the flags of a set that help shows.
func (w *writer) flags(title string, fs *pflag.FlagSet) {
	if !fs.HasAvailableFlags() {
		return
	}
	w.request("SH", title)
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		operand, usage := pflag.UnquoteUsage(f)
		head := "--" + f.Name
		if f.Shorthand != "" && f.ShorthandDeprecated == "" {
			head = "-" + f.Shorthand + ", " + head
		}
		if operand != "" {
			head += " " + operand
		}
		w.request("TP")
		w.request("B", head)
		if shows(f) {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		w.text(usage)
	})
}

// shows reports whether a flag's default says something.
func shows(f *pflag.Flag) bool { return !slices.Contains([]string{"", "false", "0", "[]"}, f.DefValue) }

// also names the pages beside this one.
func (w *writer) also(c *cobra.Command, below []*cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, pageName(c.Parent()))
	}
	for _, s := range below {
		names = append(names, pageName(s))
	}
	if names == nil {
		return
	}
	w.request("SH", "SEE ALSO")
	for i, n := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		w.WriteString(`.BR "` + escape(n) + `" (` + section + ")" + end + "\n")
	}
}
