package hwx

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/lower/td"
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
	{"h13", SubtypeH13, td.V7.Version},
	{"h14", SubtypeH14, 0},
	{"h15", SubtypeH15, 0},
	{"h16", SubtypeH16, 0},
	{"h17", SubtypeH17, 0},
	{"h18", SubtypeH18, 0},
}

// Codec returns the codec of the container's tasks.
func (f *File) Codec() (*td.Codec, error) { return CodecOf(f.Header.CPUSubtype) }

// CodecOf returns the codec of the tasks of a CPU subtype.
func CodecOf(subtype uint32) (*td.Codec, error) {
	var known []string
	for _, g := range generations {
		switch {
		case g.version == 0:
		case g.subtype == subtype:
			return td.CodecOf(g.version)
		default:
			known = append(known, fmt.Sprintf("%s (%d)", g.name, g.subtype))
		}
	}
	return nil, fmt.Errorf("the tasks of CPU subtype %d are not decoded: only those of %s have a field table",
		subtype, strings.Join(known, ", "))
}
