package afpp

// Package is a firmware container: what one load hands to the firmware.
type Package struct {
	Version  uint32 // major<<16 | minor; Encode writes [Version] for zero
	Programs []*Program
}

// Program is one compiled program, resolved for one load.
type Program struct {
	Version    uint32           // of the program's header; as Package.Version
	Versions   [NumKinds]uint32 // of each section's header, by Kind-1
	Offsets    [NumKinds]uint64 // of each section's body, from the program's header; Encode places a zero
	Generic    Generic
	Kernel     []byte // coefficients; a multiple of [Align] bytes
	Text       Text
	Operations []Operation
	Procedures []Procedure
}

// Generic is the section that names a program.
type Generic struct {
	Identity  uint64   // of the program among those of a client
	Image     uint32   // version of the register images, 10
	Base      uint64   // first device address that the program may name; page-aligned
	Size      uint64   // bytes from Base; Base+Size is at most [AddressLimit]
	Container [32]byte // SHA-256 of the hardware container
}

// Text is the section that the engine runs from: the record stream, and a
// register image for each task.
type Text struct {
	Records []Record
	Images  [][]byte // one a task, of [ImageSize] bytes
}

// Record is one 44-byte register write.
type Record struct {
	Operands  uint8     // used, 1 or 2
	Group     uint8     // of table 23.4, 0 to 6
	Task      uint16    // index into Text.Images
	Register  uint64    // device address of the register, in this load's aperture
	Operand   [2]uint64 // device addresses below 2^32 when Slot is not 0, else values
	Slot      uint32    // relocation slot, 0 for a value
	BitOffset uint8     // where in the register the value goes
	BitWidth  uint8
	Shift     uint8  // right, before placing
	Bar       uint16 // buffer-access register that Operand[0] lies in; 0 for a value
	BarOffset uint16 // in units of 64 bytes; 0 for a value or when it does not fit
}

// Operation is a range of tasks that do one thing.
type Operation struct {
	Name      string
	Class     uint32 // the operation mode of table 23.13, below [NumClasses]
	FirstTask uint32
	Tasks     uint32 // at least 1
}

// Procedure is what a call names.
type Procedure struct {
	Name           string
	FirstOperation uint32
	Operations     uint32 // at least 1
	Inputs         []Port
	Outputs        []Port
	Bars           []Bar
}

// Port is an input or output of a procedure.
type Port struct {
	Name string
	Bar  uint32 // ID of one of the procedure's bars, of usage input or output
}

// Bar is a buffer-access register: the base and size that tasks reach a buffer
// by.
type Bar struct {
	ID      uint32 // below [MaxBars], once a procedure
	Usage   Usage
	Address uint64 // inside the window of Generic; a multiple of [Align]
	Size    uint64 // bytes, at least 1
}

// Usage is what a mapped buffer is for.
type Usage uint32

// The usage codes that a load maps segments with.
const (
	UsageInput        Usage = 1
	UsageOutput       Usage = 2
	UsageIntermediate Usage = 7
	UsageWeights      Usage = 8
	UsageText         Usage = 9
	UsageConstants    Usage = 11
)

var usageNames = map[Usage]string{
	UsageInput: "input", UsageOutput: "output", UsageIntermediate: "intermediate",
	UsageWeights: "weights", UsageText: "text", UsageConstants: "constants",
}

// String names the usage, "" for a code that is none.
func (u Usage) String() string { return usageNames[u] }

// Warnings lists what the firmware takes but tells of: headers of another minor
// version (chapter 29: a version-minor mismatch warns and continues).
func (p *Package) Warnings() []string {
	var out []string
	note := func(field string, v uint32) {
		if v != Version && v != 0 {
			out = append(out, field+": "+versionText(v)+" is read as "+versionText(Version))
		}
	}
	note("package.version", p.Version)
	for i, g := range p.Programs {
		f := programField(i)
		note(f+".version", g.Version)
		for k, v := range g.Versions {
			note(f+"."+Kind(k+1).String()+".version", v)
		}
	}
	return out
}
