package afpp

import "fmt"

// The headers, little-endian. A magic number is a 32-bit integer, so that its
// letters stand backwards on disk.
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
// Programs stand behind each other, each at a multiple of Align in the file. The
// section headers of a program follow its own; bodies stand at multiples of
// Align from the program's header, and what is between them is zero (both
// assigned).
const (
	MagicPackage = 0x414e4548 // 'ANEH'
	MagicProgram = 0x414e4550 // 'ANEP'
	MagicSection = 0x414e4553 // 'ANES'

	Version = 1 << 16 // assigned: the chapters give no number

	HeaderSize        = 16
	SectionHeaderSize = 40

	Align = 64 // the tile granule of the engine (chapter 23)
)

// Limits.
const (
	MaxPrograms  = 144        // program slots of the firmware (chapters 29, 30)
	MaxBars      = 32         // hardware register slots of a procedure (table 29.4)
	MaxAllBars   = 128        // bars of a compiled program (chapter 30)
	NumClasses   = 79         // operation classes (table 23.13)
	AddressLimit = 0xe0000000 // device addresses are below it: the 3.5 GiB aperture
	PageSize     = 0x4000     // of the address translation
	MaxName      = 255        // bytes (assigned)
	ImageVersion = 10         // of the register image, ZinAneTdHw_v10
)

// Kind is the kind of a section. Sections stand in the order of their kinds,
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

// kinds is what a section of each kind holds: its body, and what the count of
// its header counts.
//
//	generic    0x00 u64 identity, 0x08 u32 image version, 0x0c u32 tasks,
//	           0x10 u32 operations, 0x14 u32 procedures, 0x18 u64 window base,
//	           0x20 u64 window size, 0x28 32 bytes SHA-256 of the container
//	           (assigned)
//	kernel     coefficient bytes
//	text       `ZTDR`, u16 1, u16 44; the records; the register images, as many
//	           as generic says tasks
//	operation  u32 class, u32 first task, u32 tasks, name (assigned)
//	procedure  u32 first operation, u32 operations, u32 inputs, u32 outputs, u32
//	           bars, name; a port is u32 bar, name; a bar is u32 identifier, u32
//	           usage, u64 address, u64 size (assigned)
//
// A name is u32 length, UTF-8 bytes, and zeros up to a multiple of four.
var kinds = [NumKinds]struct {
	name   string
	counts string
	body   func(*Program) (body []byte, count int)
	read   func(*programReader, *cursor, int)
}{
	{"generic", "1", genericBody, (*programReader).generic},
	{"kernel", "64-byte tiles", kernelBody, (*programReader).kernel},
	{"text", "records", textBody, (*programReader).text},
	{"operation", "operations", operationBody, (*programReader).operations},
	{"procedure", "procedures", procedureBody, (*programReader).procedures},
}

// String names a kind.
func (k Kind) String() string {
	if k >= 1 && k <= NumKinds {
		return kinds[k-1].name
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// The record stream.
const (
	streamMagic   = "ZTDR"
	streamVersion = 1
	streamHeader  = 8
	RecordSize    = 44
	slotPending   = 1 << 31 // of a slot that no load has resolved
)

// Group is a register group of the version-10 image.
type Group struct {
	Name     string
	Image    uint32 // offset in the image, bytes
	Words    uint32
	Register uint32 // base in the engine's register aperture, bytes
}

// Groups are the seven register groups (table 23.4; image offsets are those of
// the group's first word).
var Groups = [...]Group{
	{"kernel and common", 0x24, 34, 0x5500},
	{"dimensions", 0xf4, 19, 0x0000},
	{"tile DMA", 0x148, 69, 0x4d00},
	{"elementwise and planar", 0x264, 30, 0x4100},
	{"L2 and texture", 0x2e4, 14, 0x4500},
	{"kernel format and op mode", 0x324, 11, 0x4900},
	{"L2 result", 0x358, 21, 0x5100},
}

// ImageSize is the length of a register image: to the end of its last group.
const ImageSize = 0x358 + 21*4

// holds reports whether a relocation slot, a register address in words, lies in
// the group.
func (g Group) holds(slot uint32) bool {
	return slot >= g.Register/4 && slot < g.Register/4+g.Words
}

// slotNames are the relocation slots of table 23.5.
var slotNames = map[uint32]string{
	0x1344: "input tile", 0x134a: "second operand", 0x1442: "output tile",
	0x1554: "bias", 0x1558: "post-scale", 0x155c: "palette", 0x1560: "activation",
}

func versionText(v uint32) string { return fmt.Sprintf("version %d.%d", v>>16, v&0xffff) }
func programField(i int) string   { return fmt.Sprintf("program %d", i) }
func alignUp(n uint64) uint64     { return (n + Align - 1) &^ (Align - 1) }
