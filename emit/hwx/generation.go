package hwx

import (
	"fmt"
	"strings"
)

// CPU subtypes of the engine's generations.
const (
	SubtypeH13 = 4
	SubtypeH14 = 5
	SubtypeH15 = 6
	SubtypeH16 = 7
	SubtypeH17 = 9
	SubtypeH18 = 10
)

// generations are the generations of the engine whose containers are known (recorded programs of each), with the
// version of the task descriptor, 0 where zinc does not read it.
var generations = []struct {
	name    string
	subtype uint32
	version int
}{
	{"h13", SubtypeH13, 7},
	{"h14", SubtypeH14, 0},
	{"h15", SubtypeH15, 0},
	{"h16", SubtypeH16, 0},
	{"h17", SubtypeH17, 0},
	{"h18", SubtypeH18, 0},
}

// TaskVersion returns the version of the descriptor of the container's tasks (td.CodecFor), or an error if it is not
// known.
func (f *File) TaskVersion() (int, error) { return TaskVersion(f.Header.CPUSubtype) }

// TaskVersion returns the version of the descriptor of the tasks of a CPU subtype.
func TaskVersion(subtype uint32) (int, error) {
	var known []string
	for _, g := range generations {
		switch {
		case g.version == 0:
		case g.subtype == subtype:
			return g.version, nil
		default:
			known = append(known, fmt.Sprintf("%s (%d)", g.name, g.subtype))
		}
	}
	return 0, fmt.Errorf("the tasks of CPU subtype %d are not decoded: only those of %s have a field table", subtype,
		strings.Join(known, ", "))
}
