package check

import (
	"strconv"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/target"
)

// Explains builds the commands that explain an operation.
type Explains struct {
	model string
	Flags []string       // the set flags that determine what is compiled
	lines map[int32]bool // lines with several operations
}

// NewExplains returns an Explains for the model as named on the command line, and for the flags that determine what is
// compiled, other than the target.
func NewExplains(model string, flags []string, r *compile.Report) *Explains {
	e := &Explains{model: model, lines: map[int32]bool{}}
	if r.Target != target.Default.Name {
		e.Flags = append(e.Flags, "--target", r.Target)
	}
	e.Flags = append(e.Flags, flags...)
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

// Command is the command line that explains an operation: by its line, or by its name if the line has several or none.
func (e *Explains) Command(o *compile.OpReport) string {
	words := []string{"zinc", "explain"}
	if o.Line > 0 && !e.lines[o.Line] {
		words = append(words, e.model+":"+strconv.Itoa(int(o.Line)))
	} else {
		words = append(words, e.model, "--op="+o.Name)
	}
	words = append(words, e.Flags...)
	return shellwords.Join(words)
}

// Suggestion is an operation on the CPU and the command that shows what to write instead.
type Suggestion struct {
	Name    string `json:"name"`           // first result of the operation
	Line    int32  `json:"line,omitempty"` // line of the statement, from 1
	Command string `json:"command"`        // command that shows what to write instead
}

// list returns a suggestion for each operation that the engine refuses.
func (e *Explains) list(r *compile.Report) []Suggestion {
	var out []Suggestion
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Refusal != nil {
			out = append(out, Suggestion{o.Name, o.Line, e.Command(o)})
		}
	}
	return out
}
