package e5

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/zinc-compiler/zinc/internal/flattable"
)

// rootTag is the start of the vtable of the root table (table 23.1).
var rootTag = []byte{0x0c, 0, 0x14, 0, 4, 0, 8, 0}

// Is reports whether b begins like a descriptor, even a truncated one: by the vtable of its root table. Fewer than six
// bytes are not enough.
func Is(b []byte) bool {
	if len(b) < 6 {
		return false
	}
	at := int64(4) // where a writer puts it
	if root := int64(binary.LittleEndian.Uint32(b)); root <= int64(len(b))-4 {
		at = root - int64(int32(binary.LittleEndian.Uint32(b[root:])))
	}
	if at < 0 || at > int64(len(b)) {
		return false
	}
	n := min(len(b)-int(at), len(rootTag))
	return n >= 2 && bytes.Equal(b[at:int(at)+n], rootTag[:n])
}

// Part is a value of a descriptor that [Scan] found, named as the schema names it.
type Part = flattable.Part

// Range is a stretch of a file.
type Range = flattable.Range

// Scanned is the result of Scan.
type Scanned struct {
	Parts []Part
	// Faults begin with the first object in the file that is incomplete.
	Faults []*FormatError
	// Rest are the ranges of bytes in which no object was found, by offset: they belong to objects whose vtable or
	// whose reference is missing.
	Rest []Range
}

// Scan lists the values that are present in a descriptor that is truncated or breaks the rules, in the order of the
// schema: those that can be reached from the root through bytes that are present. The faults, up to a hundred, say what
// cannot be reached. Time and memory are in proportion to the length of b. Scan does not check the meaning of the
// values.
func Scan(b []byte) *Scanned {
	s := scanner.Scan(b)
	out := &Scanned{Parts: s.Parts, Rest: s.Rest}
	for _, f := range s.Faults {
		out.Faults = append(out.Faults, (*FormatError)(f))
	}
	return out
}

var scanner = flattable.NewScanner(programTable, func(b []byte) string { return summarise(b).String() }, writeSample)

// writeSample writes a Program with a table of each kind that a file has several of.
func writeSample() ([]byte, error) {
	operand := func(name string, a Aperture) Operand {
		return Operand{Name: name, Aperture: a, Port: IOPort{Name: name, ByteSize: 2},
			Desc: TensorDescriptor{Dim: []uint64{1}, Stride: []uint64{2}, Storage: FP16}}
	}
	f := Function{Name: "f", AneHashPath: strings.Repeat("0", 64)}
	x, y := f.AddOperand(operand("x", HostInput)), f.AddOperand(operand("y", HostOutput))
	f.AddOp([]uint32{x}, []uint32{y}, &CastAttrs{SrcDType: FP16, DstDType: FP16})
	f.Inputs, f.Outputs = []uint32{x}, []uint32{y}
	return Bytes(&Program{BuildInfo: []KV{{KeyTarget, "target"}}, Functions: []Function{f}})
}
