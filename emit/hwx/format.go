package hwx

// The format, little-endian throughout. "Sure" means seen in every container
// that Apple's compiler wrote and agreeing with Mach-O's structure of the same
// number; "seen" means constant in the few files there are, meaning not known;
// "modelled" means zinc's own, confirmed by no file.
//
//	header, 32 bytes                                         sure
//	+00 u32 magic 0xbeefface    +04 u32 cputype 0x80     +08 u32 cpusubtype (4 h13)
//	+0c u32 filetype 2          +10 u32 ncmds            +14 u32 sizeofcmds
//	+18 u32 flags 0x200000      +1c u32 0
//
//	0x19 segment, 72 bytes and 80 for each section           sure
//	+08 name[16]  +18 u64 vmaddr  +20 u64 vmsize  +28 u64 fileoff  +30 u64 filesize
//	+38 u32 maxprot  +3c u32 initprot (1 read, 2 write, 4 execute)
//	+40 u32 nsects  +44 u32 flags (2 fixed window, 4 nothing in it is relocated)
//	section: +00 name[16]  +10 segment name[16]  +20 u64 addr  +28 u64 size
//	+30 u32 offset  +34 u32 align (power of two)  +38 u32 reloff  +3c u32 nreloc
//	+40 u32 flags  +44 u32[3] reserved 0
//	Segment flag 4 on __TEXT exactly when it has no relocations: sure. Addresses:
//	in SurfacesFirst those of text and constants agree with every recorded case of
//	the current compiler (older form), in TextFirst all with every old file.
//	A section has bytes in the file when its size, its offset and its
//	segment's file size are not zero.
//	__DATA,__bss: protections and section flags are modelled (Mach-O's zero fill).
//	__KERN_0,__kern_0: names, protection and alignment from chapter 23; section
//	flags modelled on __TEXT,__const. __KERN_1 and up, for constants beyond the
//	ceiling of one section, are modelled.
//
//	0x06 port                                                sure
//	+08 u32 name offset 0x14  +0c u32 0  +10 u32 window address  +14 name, NUL, to 8
//
//	0x04 flavour 1, the program, and flavour 2, one more procedure
//	+08 u32 flavour           1 sure; 2 modelled (same layout; one procedure each,
//	                          with its own entry, tasks and bar table)
//	+0c u32 words of state    sure: 0x214 old, 0x21a current; state ends at 0x10 + 4*words
//	+10 u64[256] buffer-access registers                     sure
//	+810 u64 entry address    sure
//	+818 u32 first task's words - 1   +81c u32 tasks         sure
//	+820 u32 0                seen
//	+824 u32 0xffff           seen
//	+828 u32[5] 0             seen
//	+83c u32 name offset      sure
//	+840 u32[4] 0             seen
//	+850 u32 0x11             seen
//	+854 u32 0                seen
//	+858 u32 3                seen
//	+85c u32 0                seen
//	+860 u32[6]               current files only: contents not known, zinc writes 0 (modelled)
//	then the name, NUL, to 8
//
//	0x04 flavours 4 and 5, a program of packed tasks: packed.go
//
//	0x04 flavour 3, a bound tensor
//	+08 u32 3  +0c u32 0x1e words of state (ends at 0x88)    sure
//	+10 u32 3                 seen
//	+14 u32 binding (1 input, 2 output)                      sure
//	+18 u32 offset of the procedure's name                   sure
//	+1c u32 0                 seen
//	+20 u32 offset of the tensor's name  +24 u32 element code (5 fp16)  sure
//	+28 u32[4] N C H W        sure
//	+38 u32 1                 seen (a fifth extent, depth)
//	+3c u32[5] 0              seen
//	+50 u64[4] strides of N C H W in bytes                   sure
//	+70 u64 bytes of a batch element                         sure
//	+78 u32 1                 seen
//	+7c u32 offset of a second name, equal to the first      seen
//	+80 u64 input: the surface's bytes; output: from the first byte to past the last element
//	then procedure name, name, second name, each with its NUL, to 8
//
//	0x08 banner               sure: +08 text, lines ended by \n, NUL to 8
//
//	0x02 symbol table         sure
//	+08 u32 symbols' offset  +0c u32 count  +10 u32 strings' offset  +14 u32 strings' size
//	symbol: +00 u32 name  +04 u8 type  +05 u8 section from 1  +06 u16 desc  +08 u64 value
//	strings: a NUL, then the names in symbol order, each with its NUL
//
//	order: kernel tiles, ports, element types, shapes        sure
//	tile or port: type 0x0f, its section, its address; desc 2 for a live tile and
//	for an input, 0 for an unused lane and for an output     sure
//	element type: type 0x80, "float16:t5=r1;2;0"; 1 to 10 sure, 16 and 23 from
//	chapter 23, those between not known and not written
//	shape: type 0x20, desc its first type number, five numbers each   sure; numbers
//	from 11 in old files sure, from 25 in SurfacesFirst modelled
//	in a section past the 255th: type 0x03, section 0        modelled
//
//	relocation: u32 address inside the section, u32 0x05000000 | section from 1   sure
//
// File order: header, load commands, symbols, strings, relocations (on 8), zeros to a 16 KiB page, then segment
// after segment. Parts never share bytes, and the bytes between them are zero (kept as Gap otherwise).

// Magic is the first word of a container.
const Magic = 0xbeefface

// Values of the header that every container has.
const (
	CPUType     = 0x80     // the engine
	FileType    = 2        // executable
	HeaderFlags = 0x200000 // seen in every file; meaning not known

	headerSize = 32
)

// Load commands.
const (
	CmdSymtab  = 0x02
	CmdThread  = 0x04 // program, procedure or tensor, by its flavour
	CmdPort    = 0x06
	CmdIdent   = 0x08
	CmdSegment = 0x19
)

// Flavours of CmdThread.
const (
	FlavorProgram   = 1
	FlavorProcedure = 2 // modelled: zinc's own
	FlavorTensor    = 3
)

// Memory protections of a segment.
const (
	ProtRead  = 1
	ProtWrite = 2
	ProtExec  = 4
)

// Segment flags.
const (
	SegWindow  = 2 // a fixed window: no bytes in the file
	SegNoReloc = 4 // nothing inside is relocated
)

// Section flags: the low byte is the section's type.
const (
	SectZero      = 0x01  // modelled: filled with zeros, no bytes in the file
	SectInput     = 0x21  // window of an input
	SectOutput    = 0x23  // window of an output
	SectConstants = 0x26  // constants
	SectTasks     = 0x28  // tasks
	SectReloc     = 0x100 // has relocations
)

// Tensor bindings.
const (
	BindInput  = 1
	BindOutput = 2
)

// Symbol types and the desc of a live one.
const (
	SymSection = 0x0f // an address in a section: a kernel tile or a port
	SymShape   = 0x20 // stabs-style shape of a port
	SymType    = 0x80 // stabs-style element type
	DescLive   = 2
)

const (
	// Page is the granule of the engine's address translation.
	Page = 0x4000
	// Granule is the alignment of constants: the engine's 64-byte tile.
	Granule = 0x40
	// Base is the first engine address that a container uses.
	Base = 0x30000000
	// AddrLimit is the end of the engine's address space.
	AddrLimit = 1 << 32
	// Bars is the number of buffer-access registers of a program.
	Bars = 256
	// TaskAlign is the alignment of a task inside __text.
	TaskAlign = 0x100
	// MaxKernelSection is the ceiling of one kernel section in bytes
	// (the compiler flag --max-kernel-section-size of chapter 23).
	MaxKernelSection = 134217728

	relocLocal = 0x05 // high byte of a relocation's second word
	maxName    = 4096 // longest name read, so that a lying table costs no time
)

// Segment and section names.
const (
	SegGuard   = "__PAGEZERO"
	SegScratch = "__DATA"
	SegPort    = "__FVMLIB"
	SegText    = "__TEXT"
	SegKernel  = "__KERN_0" // the first; the others count up

	SectBSS    = "__bss"
	SectData   = "__data"
	SectConst  = "__const"
	SectText   = "__text"
	SectKernel = "__kern_0"
)
