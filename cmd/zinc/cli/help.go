package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/inspect/report"
)

// Help is wrapped at the columns of the terminal that it goes to, within these bounds: longer lines are hard to read,
// and shorter ones have no space for the names of flags. Elsewhere it is wrapped at helpWidth, a terminal's usual size.
const (
	helpWidth    = 80
	leastColumns = 50
	maxColumns   = 100
)

// helpColumns returns the number of columns of help that goes to w.
func helpColumns(w io.Writer) int {
	if f, ok := w.(*os.File); ok && isTerminal(f) {
		if n := columns(f); n > 0 {
			return min(max(n, leastColumns), maxColumns)
		}
	}
	return helpWidth
}

// helpAll prints the help with the expert flags. It is replaced by --help, which cobra handles before it
// checks operands.
const helpAll = "--help-all"

// flagGroup is a list of flags under a title of their own.
type flagGroup struct {
	title  string
	flags  []string
	expert bool // listed by --help-all alone
}

// flagGroups are the groups of a command's help. Flags that are in none of them are listed first.
var flagGroups = []flagGroup{
	{title: "Flags that choose what is compiled, and for what", flags: []string{"target", "precision", "place", "func",
		"shape", "weights", "follow"}},
	{title: "Flags for budgets", flags: budgetNames()},
	{title: "Flags for output", flags: []string{"output", "report", "json", "sarif", "markdown", "color", "quiet",
		"progress", "dry-run", "debug-db", "help", "version"}},
	{title: "Expert flags", expert: true, flags: []string{"split-kernel-section", "td-form", "operation-symbols",
		"workers", "print-after", "print-changed", "elide-constants", "time-passes", "verify-each", "to", "from",
		"diagnostics", "inject", "inject-seed", "strict-firmware", "max-body", "max-heap", "max-kept", "max-memory",
		"max-time", "cache-trust", "cache-remote-timeout"}},
}

func budgetNames() []string {
	names := []string{"require-engine"}
	for i := range report.Budgets {
		names = append(names, report.Budgets[i].ID)
	}
	return names
}

// flagText lists the flags of a command, its parents' included, in their groups.
func (e *env) flagText(c *cobra.Command) string {
	sets := make([]*pflag.FlagSet, 1+len(flagGroups))
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		in := slices.IndexFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.flags, f.Name) })
		sets[1+in].AddFlag(f)
	})
	var b strings.Builder
	write := func(title string, s *pflag.FlagSet) {
		if s.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", title, s.FlagUsagesWrapped(e.columns))
		}
	}
	write("Flags", sets[0])
	hidden := false
	for i, g := range flagGroups {
		if g.expert && !e.helpAll {
			hidden = hidden || sets[1+i].HasAvailableFlags()
			continue
		}
		write(g.title, sets[1+i])
	}
	if hidden {
		fmt.Fprintf(&b, "\n%s %s also lists the expert flags.\n", c.CommandPath(), helpAll)
	}
	return b.String()
}

// fill writes words from a column on, up to a number of columns. end is written instead of a space where the words go
// on, at column at.
func fill(b *strings.Builder, words []string, column, columns int, end string, at int) {
	for i, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && column+1+n > columns:
			b.WriteString(end)
			column = at
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
}

// wrapped fills the paragraphs of a text up to a number of columns. A line that begins with a space is a row of a
// table, whose last column is continued below.
func wrapped(text string, columns int) string {
	var b strings.Builder
	var words []string
	flush := func() {
		if fill(&b, words, 0, columns, "\n", 0); len(words) > 0 {
			b.WriteByte('\n')
		}
		words = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			words = append(words, strings.Fields(line)...)
			continue
		}
		flush()
		b.WriteString(tableRow(line, columns) + "\n")
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// tableRow breaks a row of a table at a number of columns. Two or more spaces separate the row's own columns.
func tableRow(line string, columns int) string {
	at := len(line) - len(strings.TrimLeft(line, " "))
	if gap := strings.Index(line[at:], "  "); gap >= 0 {
		at = len(line) - len(strings.TrimLeft(line[at+gap:], " "))
	}
	var b strings.Builder
	b.WriteString(line[:at])
	fill(&b, strings.Fields(line[at:]), at, columns, "\n"+strings.Repeat(" ", at), at)
	return b.String()
}

// commandLine breaks a shell command at a number of columns. What it returns is the same command for a shell.
func commandLine(line string, columns int) string {
	const more = " \\"
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	var words []string // a word in quotes is whole
	start, quoted := 0, false
	text := line[len(indent):]
	for i, r := range text {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			words = append(words, text[start:i])
			start = i + 1
		}
	}
	words = append(words, text[start:])
	var b strings.Builder
	b.WriteString(indent)
	fill(&b, words, len(indent), columns-len(more), more+"\n"+strings.Repeat(indent, 3), 3*len(indent))
	return b.String()
}

// usageText describes how a command is called, with a text before its subcommands and flags, which can be empty. It is
// empty for a topic of help, which is not a command.
func (e *env) usageText(c *cobra.Command, text string) string {
	if c.IsAdditionalHelpTopicCommand() {
		return ""
	}
	return e.formText(c) + text + e.partText(c)
}

// formText lists the forms of a command, and examples.
func (e *env) formText(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		b.WriteString(tableRow("  "+c.UseLine(), e.columns) + "\n")
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", c.CommandPath())
	}
	if c.HasExample() {
		b.WriteString("\nExamples:\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString(commandLine(strings.TrimRight(line, "\n"), e.columns) + "\n")
		}
	}
	return b.String()
}

// partText lists the subcommands and flags of a command.
func (e *env) partText(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString(e.commandText(c))
	b.WriteString(e.flagText(c))
	if c.HasAvailableSubCommands() {
		b.WriteString("\n" + wrapped(fmt.Sprintf("%[1]s COMMAND --help has the flags and examples of a command, "+
			"%[2]s help exit-status the exit statuses, %[2]s help environment the environment variables.",
			c.CommandPath(), c.Root().CommandPath()), e.columns) + "\n")
	}
	return b.String()
}

// commandText lists the subcommands of a command in their groups.
func (e *env) commandText(c *cobra.Command) string {
	if !c.HasAvailableSubCommands() {
		return ""
	}
	var b strings.Builder
	list := func(title, id string) {
		first := true
		for _, s := range c.Commands() {
			if s.GroupID != id || !s.IsAvailableCommand() && s.Name() != "help" {
				continue
			}
			if first {
				fmt.Fprintf(&b, "\n%s\n", title)
				first = false
			}
			fmt.Fprintln(&b, tableRow(fmt.Sprintf("  %-*s  %s", s.NamePadding(), s.Name(), s.Short), e.columns))
		}
	}
	for _, g := range c.Groups() {
		list(g.Title, g.ID)
	}
	list("Commands:", "")
	return b.String()
}

// setHelp sets the help of the command tree: what a command does in a line, how it is called, with examples, then the
// long text, subcommands and flags.
func (e *env) setHelp(root *cobra.Command) {
	root.SetUsageFunc(func(c *cobra.Command) error {
		c.InheritedFlags() // cobra adds them to c.Flags here
		_, err := fmt.Fprint(c.OutOrStderr(), e.usageText(c, ""))
		return err
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		c.InheritedFlags() // cobra adds them to c.Flags here
		long := ""
		if c.Long != "" {
			long = "\n" + wrapped(c.Long, e.columns) + "\n"
		}
		text := wrapped(c.Short, e.columns) + "\n\n" + e.usageText(c, long)
		if c.IsAdditionalHelpTopicCommand() {
			text = strings.TrimPrefix(long, "\n")
		}
		fmt.Fprint(c.OutOrStdout(), text)
	})
}

// brief prints one screen: what zinc is, its commands, and how to get more help.
func (e *env) brief(c *cobra.Command) error {
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n\nUsage:\n  %s\n  zinc COMMAND\n%s\n"+
		"zinc --help has the flags and examples, zinc COMMAND --help those of a command.\n", c.Short, c.Use,
		e.commandText(c))
	return err
}
