package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// dumpPart is a part of a file that dump can print separately, and its flag.
type dumpPart struct{ name, help string }

// Parts of files.
const (
	partHeaders   = "headers"
	partTasks     = "tasks"
	partFields    = "fields"
	partTask      = "task"
	partConstants = "constants"
	partSymbols   = "symbols"
	partRelocs    = "relocs"
	partRecords   = "records"
	partE5        = "e5"
)

// dumpParts are the parts that a flag selects, in the order in which they are
// printed. partTask has a separate flag, which takes a value.
var dumpParts = []dumpPart{
	{partHeaders, "print the headers: load commands, sections, signature"},
	{partTasks, "print the tasks, one line each: engine, operation, shapes, buffers"},
	{partFields, "print the tasks with every field that is not zero: value, meaning, grade"},
	{partConstants, "print the constants: place, size, readers, first values"},
	{partSymbols, "print the symbols"},
	{partRelocs, "print the relocations, with the task and field that each one changes"},
	{partRecords, "print the 44-byte records; for a container, those that loading makes from its tasks"},
	{partE5, "print the dispatch descriptor; for a container, the one beside it"},
}

// selection is what the flags chose of a file.
type selection struct {
	on   []bool   // by dumpParts
	all  bool     // every part that the file has
	task []string // --task
}

func (s *selection) flags(f *pflag.FlagSet) {
	s.on = make([]bool, len(dumpParts))
	for i, p := range dumpParts {
		f.BoolVar(&s.on[i], p.name, false, p.help)
	}
	f.BoolVar(&s.all, "all", false, "print every part that the file has")
	f.StringArrayVar(&s.task, partTask, nil, "print tasks with the place, value, meaning and source of every "+
		"field: `N`, N-M, N- or a comma-separated list; PROCEDURE:N if there are several")
}

// chosen lists the parts that flags name.
func (s *selection) chosen() (out []string) {
	for i, on := range s.on {
		if on {
			out = append(out, dumpParts[i].name)
		}
	}
	if len(s.task) > 0 {
		out = append(out, partTask)
	}
	return out
}

func (s *selection) any() bool { return s.all || len(s.chosen()) > 0 }

// filePart is how one part of a kind of file is printed: decoded, and as words.
type filePart struct {
	name  string
	print func(d *fileDump) error
	raw   func(d *fileDump) error
	// always: it is printed where no flag says what to print.
	always bool
}

// of returns those of a file's parts that are to be printed, in their order. noun
// names the kind of file.
func (s *selection) of(parts []filePart, noun string) ([]filePart, error) {
	has := func(name string) bool {
		return slices.ContainsFunc(parts, func(p filePart) bool { return p.name == name })
	}
	for _, name := range s.chosen() {
		if !has(name) {
			var names []string
			for _, p := range parts {
				names = append(names, "--"+p.name)
			}
			if len(names) == 0 {
				return nil, fmt.Errorf("--%s: %s is printed whole and lacks that part", name, noun)
			}
			return nil, fmt.Errorf("--%s: %s lacks that part; it has %s", name, noun, strings.Join(names, ", "))
		}
	}
	chosen, any := s.chosen(), s.any()
	var out []filePart
	for _, p := range parts {
		switch {
		case p.name == partTask && len(s.task) == 0:
		case slices.Contains(chosen, p.name), s.all, !any && p.always:
			out = append(out, p)
		}
	}
	// Fields are printed with the tasks.
	if slices.ContainsFunc(out, func(p filePart) bool { return p.name == partFields }) {
		out = slices.DeleteFunc(out, func(p filePart) bool { return p.name == partTasks })
	}
	return out, nil
}
