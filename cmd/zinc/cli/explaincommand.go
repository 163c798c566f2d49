package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/check"
)

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

// newExplains returns an Explains for the model as named on the command line, and for the flags.
func newExplains(model string, f *pflag.FlagSet, r *compile.Report) *check.Explains {
	return check.NewExplains(model, givenFlags(f, sourceFlags), r)
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
