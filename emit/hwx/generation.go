package hwx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/target"
)

// Target returns the oldest target whose containers have the container's CPU subtype, or an error if zinc has no field
// table for the tasks of any.
func (f *File) Target() (*target.Table, error) { return TargetOf(f.Header.CPUSubtype) }

// TargetOf returns the target of a CPU subtype.
func TargetOf(subtype uint32) (*target.Table, error) {
	if t := target.BySubtype(subtype); t != nil && t.TD != 0 {
		return t, nil
	}
	var known []string
	for _, name := range target.Compiled() {
		if t, _ := target.Lookup(name); target.BySubtype(t.Subtype) == t {
			known = append(known, fmt.Sprintf("%s (%d)", name, t.Subtype))
		}
	}
	return nil, fmt.Errorf("the tasks of CPU subtype %d are not decoded: only those of %s have a field table", subtype,
		strings.Join(known, ", "))
}

// TaskVersion returns the version of the descriptor of the container's tasks (td.CodecFor), or an error if it is not
// known.
func (f *File) TaskVersion() (int, error) { return TaskVersion(f.Header.CPUSubtype) }

// TaskVersion returns the version of the descriptor of the tasks of a CPU subtype.
func TaskVersion(subtype uint32) (int, error) {
	t, err := TargetOf(subtype)
	if err != nil {
		return 0, err
	}
	return t.TD, nil
}

// form is what the version of the task descriptor decides about a container.
type form struct {
	version            int    // of the descriptor
	program, procedure uint32 // flavours of the descriptors of programs
	head               uint64 // zero bytes before the first task
	align              uint64 // of a task
	mark               uint32 // word +0x868 of a packed program
}

// forms are the known forms.
var forms = []form{
	{version: 7, program: FlavorProgram, procedure: FlavorProcedure, align: TaskAlign},
	{version: 11, program: FlavorPacked, procedure: FlavorPackedProcedure, head: packedHead,
		align: packedTaskAlign, mark: 3},
}

// formOf returns the form of the containers of a CPU subtype, or nil if it is not known.
func formOf(subtype uint32) *form {
	t := target.BySubtype(subtype)
	if t == nil {
		return nil
	}
	i := slices.IndexFunc(forms, func(f form) bool { return f.version == t.Version })
	if i < 0 {
		return nil
	}
	return &forms[i]
}
