package afpp

import "fmt"

// The headers, little-endian. A magic number is a 32-bit integer, so that its letters are reversed on disk.
//
//	package, program   0x00 u32 magic     HENA, PENA
//	                   0x04 u32 version   major<<16 | minor
//	                   0x08 u32 count     of programs; of sections
//	                   0x0c u32 size      of the whole, headers included
//	section            0x00 u32 magic     SENA
//	                   0x04 u32 version
//	                   0x08 u32 count     of entries, see kinds
//	                   0x0c u32 size      of this header and the body
//	                   0x10 u32 kind
//	                   0x14 u64 offset    of the body, from the program's header
//	                   0x1c u64 size      of the body
//	                   0x24 u32 CRC-32    (IEEE) of the body
//
// Programs are in sequence, each at a multiple of Align in the file. The section headers of a program follow its own;
// bodies are at multiples of Align from the program's header, and the bytes between them are zero (both assigned). The
// writer puts the coefficients last and on a page of the file, so that tasks read coefficients directly from the memory
// of the container (assigned; a reader takes bodies in any order).
const (
	MagicPackage = 0x414e4548 // 'ANEH'
	MagicProgram = 0x414e4550 // 'ANEP'
	MagicSection = 0x414e4553 // 'ANES'

	Version = 1 << 16 // assigned: the chapters state no number

	HeaderSize        = 16
	SectionHeaderSize = 40

	Align = 64 // the tile granule of the engine (chapter 23)
)

// Limits.
const (
	MaxPrograms = 144 // program slots of the firmware (chapters 29, 30)
	// hardware register slots of a procedure (table 29.4); the 128 of chapter 30 are custom bars
	MaxBars      = 32
	AddressLimit = 0xe0000000 // device addresses are below it: the 3.5 GiB aperture
	PageSize     = 0x4000     // of the address translation
	MaxName      = 255        // bytes (assigned)
)

// Kind is the kind of a section. Sections are in the order of their kinds,
// each once (numbers assigned, in the order in which the chapters list them).
type Kind uint32

// The kinds of sections.
const (
	KindGeneric Kind = 1 + iota
	KindKernel
	KindText
	KindOperation
	KindProcedure

	NumKinds = 5
)

// kinds describes the sections of each kind: the body, and the unit of the count in the header.
//
//	generic    0x00 u64 identity, 0x08 u32 image version, 0x0c u32 tasks,
//	           0x10 u32 operations, 0x14 u32 procedures, 0x18 u64 window base,
//	           0x20 u64 window size, 0x28 32 bytes SHA-256 of the container
//	           (assigned)
//	kernel     coefficient bytes
//	text       the record stream as lower/td has it: `ZTDR`, u16 1, u16 44, the
//	           records; then the register images, as many as generic says tasks
//	operation  u16 class, u16 micro-operation, u32 first task, u32 tasks, name (assigned)
//	procedure  u32 first operation, u32 operations, u32 inputs, u32 outputs, u32
//	           bars, name; a port is u32 bar, name; a bar is u32 identifier, u32
//	           usage, u64 address, u64 size (assigned); address 0 of an input or
//	           an output: each call brings its own
//
// A name is u32 length, UTF-8 bytes, and zeros up to a multiple of four.
var kinds = [NumKinds]struct {
	name   string
	counts string
	body   func(*Program) (body []byte, count int, err error)
	read   func(*programReader, *cursor, int)
	apart  bool // a value that breaks a rule does not prevent reading those after it
}{
	{name: "generic", counts: "1", body: genericBody, read: (*programReader).generic, apart: true},
	{name: "kernel", counts: "64-byte tiles", body: kernelBody, read: (*programReader).kernel, apart: true},
	{name: "text", counts: "records", body: textBody, read: (*programReader).text, apart: true},
	{name: "operation", counts: "operations", body: operationBody, read: (*programReader).operations, apart: false},
	{name: "procedure", counts: "procedures", body: procedureBody, read: (*programReader).procedures, apart: false},
}

// String names a kind.
func (k Kind) String() string {
	if k >= 1 && k <= NumKinds {
		return kinds[k-1].name
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

func versionText(v uint32) string { return fmt.Sprintf("version %d.%d", v>>16, v&0xffff) }
func programField(i int) string   { return fmt.Sprintf("program %d", i) }
func alignUp(n uint64) uint64     { return (n + Align - 1) &^ (Align - 1) }
