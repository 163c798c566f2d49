package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/shellwords"
)

// explains builds the commands that explain an operation.
type explains struct {
	model string
	flags []string       // the set flags that determine what is compiled
	lines map[int32]bool // lines with several operations
}

// sourceFlags are the flags that determine what is compiled, other than the target, which a report records.
var sourceFlags = []string{"precision", "place", "func", "shape", "weights"}

// givenFlags returns the words that pass the named flags, if set, to another command.
func givenFlags(f *pflag.FlagSet, names []string) []string {
	var words []string
	for _, name := range names {
		x := f.Lookup(name)
		switch {
		case x == nil || !x.Changed:
		case name == "shape":
			values, _ := f.GetStringArray(name)
			for _, v := range values {
				words = append(words, "--"+name, v)
			}
		default:
			words = append(words, "--"+name, x.Value.String())
		}
	}
	return words
}

// newExplains returns an explains for the model as named on the command line, and for the flags.
func newExplains(model string, f *pflag.FlagSet, r *compile.Report) *explains {
	e := &explains{model: model, lines: map[int32]bool{}}
	if r.Target != f.Lookup("target").DefValue {
		e.flags = append(e.flags, "--target", r.Target)
	}
	e.flags = append(e.flags, givenFlags(f, sourceFlags)...)
	seen := map[int32]string{}
	for i := range r.Ops {
		o := &r.Ops[i]
		if name, ok := seen[o.Line]; ok && name != o.Name {
			e.lines[o.Line] = true
		}
		seen[o.Line] = o.Name
	}
	return e
}

// command is the command line that explains an operation: by its line, or by its name if the line has several or none.
func (e *explains) command(o *compile.OpReport) string {
	words := []string{"zinc", "explain"}
	if o.Line > 0 && !e.lines[o.Line] {
		words = append(words, e.model+":"+strconv.Itoa(int(o.Line)))
	} else {
		words = append(words, e.model, "--op="+o.Name)
	}
	words = append(words, e.flags...)
	return shellLine(words)
}

// shellLine joins the words of a command for a POSIX shell.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellwords.Quote(w)
	}
	return strings.Join(quoted, " ")
}

// suggestion is an operation on the CPU and the command that shows what to write instead.
type suggestion struct {
	Name    string `json:"name"`           // first result of the operation
	Line    int32  `json:"line,omitempty"` // line of the statement, from 1
	Command string `json:"command"`        // command that shows what to write instead
}

// list returns a suggestion for each operation that the engine refuses.
func (e *explains) list(r *compile.Report) []suggestion {
	var out []suggestion
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Refusal != nil {
			out = append(out, suggestion{o.Name, o.Line, e.command(o)})
		}
	}
	return out
}

// maxMore is the maximum number of other lines to list after a command.
const maxMore = 6

// more lists the lines of the other operations in a group.
func more(lines []int32) string {
	var words []string
	for _, l := range lines[:min(len(lines), maxMore)] {
		words = append(words, strconv.Itoa(int(l)))
	}
	s := "lines " + strings.Join(words, ", ")
	if len(lines) == 1 {
		s = "line " + words[0]
	}
	if n := len(lines) - maxMore; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}
