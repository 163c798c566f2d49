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

// TargetOf is Target for a CPU subtype.
func TargetOf(subtype uint32) (*target.Table, error) {
	if formOf(subtype) != nil {
		return target.BySubtype(subtype), nil
	}
	var known []string
	for i := range forms {
		for _, t := range target.All {
			if t.Version == forms[i].version && target.BySubtype(t.Subtype) == t {
				known = append(known, fmt.Sprintf("%s (%d)", t.Name, t.Subtype))
			}
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
	if f := formOf(subtype); f != nil {
		return f.version, nil
	}
	_, err := TargetOf(subtype)
	return 0, err
}

// form is what the version of the task descriptor decides about a container.
type form struct {
	version            int    // of the descriptor
	program, procedure uint32 // flavours of the descriptors of programs
	header             int    // least number of words of a task's header
	head               uint64 // zero bytes before the first task
	align              uint64 // of a task
	mark               uint32 // word +0x868 of a packed program
	// kernels is set if coefficients and tables alone have segments of their own: the constants of a container without
	// them follow the tasks, where one with them has a page of zeros (80 recorded programs from h16 on).
	kernels bool
	// The words +0x860 of recorded packed programs, by the number of their tasks, and the notes after the note of the
	// time, as number and value.
	orders []uint32
	notes  [][2]uint32
}

// forms are the known forms.
var forms = []form{
	{version: 7, program: FlavorProgram, procedure: FlavorProcedure, header: taskHeader, align: TaskAlign},
	packedForm(11, 8, 3, []uint32{1: 0x11, 2: 0x15, 3: 0x30}),
	packedForm(8, 8, 5, []uint32{1: 0x10, 2: 0x13, 3: 0x1f}),
	packedForm(17, 9, 4, []uint32{1: 0x10, 2: 0x12}, lateNote),
	packedForm(19, 9, 4, []uint32{1: 0x10, 2: 0x12}, lateNote),
	packedForm(20, 9, 4, []uint32{1: 0x10, 2: 0x12}, lateNote),
	packedForm(24, 9, 4, []uint32{1: 0x10, 2: 0x12}, lateNote), // modelled: as 20
}

// oldestPacked is the form of packed programs in a container whose subtype is not known.
var oldestPacked = &forms[1]

// lateNote is a note of every recorded program from h16 on: 10,000 as fp32. No source says what it means.
var lateNote = [2]uint32{7, 0x461c4000}

// shortHeader is the number of words of a task's header before h16.
const shortHeader = 8

func packedForm(version, header int, mark uint32, orders []uint32, notes ...[2]uint32) form {
	f := form{version: version, program: FlavorPacked, procedure: FlavorPackedProcedure, header: header,
		head: packedHead, align: packedTaskAlign, mark: mark, orders: orders, notes: notes}
	f.kernels = header > shortHeader
	return f
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
