package dump

import (
	"fmt"
	"slices"
	"strings"
)

// Part is a part of a file that can be printed separately: its name, and what is printed.
type Part struct{ Name, Help string }

// Parts of files.
const (
	PartHeaders   = "headers"
	PartTasks     = "tasks"
	PartFields    = "fields"
	PartTask      = "task"
	PartConstants = "constants"
	PartSymbols   = "symbols"
	PartRelocs    = "relocs"
	PartRecords   = "records"
	PartE5        = "e5"
)

// optionAllFields is the name in messages of Options.AllFields.
const optionAllFields = "all-fields"

// Parts are the parts that Options.Parts selects, in the order in which they are
// printed. PartTask is not among them: Options.Tasks selects it.
var Parts = []Part{
	{PartHeaders, "print the headers: load commands, sections, signature"},
	{PartTasks, "print the tasks, one line each: engine, operation, shapes, buffers"},
	{PartFields, "print the tasks with every field that is not zero: value, meaning, grade"},
	{PartConstants, "print the constants: place, size, readers, first values"},
	{PartSymbols, "print the symbols"},
	{PartRelocs, "print the relocations, with the task and field that each one changes"},
	{PartRecords, "print the 44-byte records; for a container, those that loading generates from its tasks"},
	{PartE5, "print the dispatch descriptor; for a container, the one beside it"},
}

// chosen lists the parts that are requested, in the order of Parts.
func (o *Options) chosen() (out []string) {
	for _, p := range Parts {
		if slices.Contains(o.Parts, p.Name) {
			out = append(out, p.Name)
		}
	}
	if len(o.Tasks) > 0 {
		out = append(out, PartTask)
	}
	return out
}

// any reports whether any part is requested.
func (o *Options) any() bool { return o.All || len(o.chosen()) > 0 }

// has reports whether the part is requested, by its name or with all of them.
func (o *Options) has(part string) bool { return o.All || slices.Contains(o.Parts, part) }

// filePart is how one part of a kind of file is printed: decoded, and as words.
type filePart struct {
	name  string
	print func(d *fileDump)
	raw   func(d *fileDump)
	// always: it is printed by default.
	always bool
}

// of returns the parts of a file to be printed, in their order. noun names the kind of file.
func (o *Options) of(parts []filePart, noun string) ([]filePart, error) {
	has := func(name string) bool {
		return slices.ContainsFunc(parts, func(p filePart) bool { return p.name == name })
	}
	for _, name := range o.chosen() {
		if !has(name) {
			var names []string
			for _, p := range parts {
				names = append(names, o.name(p.name))
			}
			if len(names) == 0 {
				return nil, fmt.Errorf("%s: %s is printed as a whole and lacks that part", o.name(name), noun)
			}
			return nil, fmt.Errorf("%s: %s lacks that part; it has %s", o.name(name), noun, strings.Join(names, ", "))
		}
	}
	chosen, some := o.chosen(), o.any()
	var out []filePart
	for _, p := range parts {
		switch {
		case p.name == PartTask && len(o.Tasks) == 0:
		case slices.Contains(chosen, p.name), o.All, !some && p.always:
			out = append(out, p)
		}
	}
	// Fields are printed with the tasks.
	if slices.ContainsFunc(out, func(p filePart) bool { return p.name == PartFields }) {
		out = slices.DeleteFunc(out, func(p filePart) bool { return p.name == PartTasks })
	}
	return out, nil
}
