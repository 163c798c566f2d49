package hwx

import (
	"fmt"
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
