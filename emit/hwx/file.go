package hwx

import "io"

// File is a container in typed form. Commands keep the order of the file.
type File struct {
	Header   Header
	Commands []Command
	Gaps     []Gap // bytes between the parts that are not zero, by offset
	Size     int64 // bytes in the file

	data   []byte // the input of Read
	stream Stream // the constants, nil if they are in Parts
}

// Header contains the words of the header that are not counts; magic, number and size of the commands follow from the
// rest.
type Header struct {
	CPUType    uint32
	CPUSubtype uint32
	FileType   uint32
	Flags      uint32
	Reserved   uint32
}

// Gap is a run of bytes that belongs to no part of the file.
type Gap struct {
	Off  int64
	Data []byte
}

// Command is one load command: *Segment, *Port, *Program, *Tensor, *Ident,
// *Symtab or *Raw.
type Command interface {
	// Kind is the command's number.
	Kind() uint32
	// append appends the command's bytes to b; the size word is the
	// caller's to fill.
	append(b []byte) ([]byte, error)
}

// Name is a segment or section name, padded with zeros.
type Name [16]byte

// MakeName returns the Name of s; bytes past 16 are cut.
func MakeName(s string) (n Name) { copy(n[:], s); return n }

// is reports whether String returns s.
func (n *Name) is(s string) bool {
	return len(s) <= len(n) && string(n[:len(s)]) == s && (len(s) == len(n) || n[len(s)] == 0)
}

// String is the name up to its first zero.
func (n Name) String() string {
	for i, c := range n {
		if c == 0 {
			return string(n[:i])
		}
	}
	return string(n[:])
}

// Stream writes constants that are too large to hold: always the same bytes.
type Stream interface {
	io.WriterTo
	// WriteBoth writes the bytes to both writers, which it may call at the same time.
	WriteBoth(w, also io.Writer) (int64, error)
	Size() int64
}

// Segment is a range of engine addresses and, for some, of the file.
type Segment struct {
	Name              Name
	VMAddr, VMSize    uint64
	FileOff, FileSize uint64
	MaxProt, InitProt uint32
	Flags             uint32
	Sections          []*Section
	Tail              []byte // bytes after the last section, normally none
}

// Section is a part of a segment.
type Section struct {
	Name, Segment Name
	Addr, Size    uint64
	Offset        uint32 // in the file; 0 if the section has no bytes there
	Align         uint32 // power of two
	RelocOff      uint32
	Flags         uint32
	Reserved      [3]uint32
	Relocs        []Reloc
	Parts         [][]byte // contents, Size bytes in all; nil when not in the file
	// Streamed reports that the contents are a part of the file's Stream. Parts is nil until File.Keep.
	Streamed bool
}

// inFile reports whether the section has contents in the file.
func (s *Section) inFile() bool { return s.Parts != nil || s.Streamed }

// Bytes returns the contents, without a copy if they are one part, as in every file that was read; nil for a section
// without bytes in the file, or whose bytes are streamed.
func (s *Section) Bytes() []byte {
	switch len(s.Parts) {
	case 0:
		return nil
	case 1:
		return s.Parts[0]
	}
	b := make([]byte, 0, s.Size)
	for _, p := range s.Parts {
		b = append(b, p...)
	}
	return b
}

// Present returns the number of bytes of the contents that are present: fewer than Size if the file was truncated.
func (s *Section) Present() (n uint64) {
	if s.Streamed {
		return s.Size
	}
	for _, p := range s.Parts {
		n += uint64(len(p))
	}
	return n
}

// Reloc is a word that the loader adjusts by the base of a section.
type Reloc struct {
	Addr uint32 // byte offset inside the section that has the relocation
	Info uint32 // kind in the high byte, section (from 1) below
}

// Section is the number, from 1, of the section that the word points into.
func (r Reloc) Section() int { return int(r.Info & 0xffffff) }

// Port binds a name to a window.
type Port struct {
	Name    string
	NameOff uint32
	Unknown uint32 // +0x0c, always 0
	Addr    uint32
	Tail    []byte // bytes from +0x14, when not the name and its padding
}

// Program is a program or procedure descriptor: one entry into the tasks.
type Program struct {
	Flavor uint32 // FlavorProgram or FlavorProcedure, FlavorPacked or FlavorPackedProcedure
	// Bars are the words of the buffer-access registers. A packed program has relocations of 128 bits: register i is
	// Bars[2*i].
	Bars       [Bars]uint64
	Entry      uint64 // address of the first task, or of the stream
	Packed     Packed // the rest of the state of a packed program, instead of the fields from FirstLess1 to Unknown840
	FirstLess1 uint32 // words of the first task, minus one
	Tasks      uint32
	Unknown820 uint32    // 0
	Mask       uint32    // +0x824, 0xffff
	Unknown828 [5]uint32 // 0
	NameOff    uint32
	Unknown840 []uint32 // from +0x840 to the end of the state; see format.go
	Name       string
	Tail       []byte // bytes after the state, unless they are the name and its padding
}

// FirstWords is the number of words of the first task, as the descriptor states it; 0 for a packed program, whose tasks
// state their own.
func (p *Program) FirstWords() int {
	if p.Packed != nil {
		return 0
	}
	return int(int64(p.FirstLess1) + 1)
}

// barWords is the number of words of Bars that a register takes.
func (p *Program) barWords() int {
	if p.Packed != nil {
		return 2
	}
	return 1
}

// first returns the address of the first task.
func (p *Program) first() uint64 {
	if p.Packed != nil {
		return p.Entry + packedHead
	}
	return p.Entry
}

// Main reports whether the descriptor is the program and not one more procedure.
func (p *Program) Main() bool { return p.Flavor == FlavorProgram || p.Flavor == FlavorPacked }

// Tensor describes a bound tensor.
type Tensor struct {
	Unknown10  uint32 // 3
	Binding    uint32 // BindInput or BindOutput
	Procedure  string
	ProcOff    uint32
	Unknown1C  uint32 // 0
	Name       string
	NameOff    uint32
	Element    uint32    // element code, 5 fp16
	Dims       [4]uint32 // N, C, H, W
	Depth      uint32    // 1
	Unknown3C  [5]uint32 // 0
	Strides    [4]uint64 // bytes between neighbours along N, C, H, W
	BatchBytes uint64    // bytes of one batch element
	Unknown78  uint32    // 1
	Name2      string
	Name2Off   uint32
	Span       uint64   // input: bytes of the surface; output: to past the last element
	More       []uint32 // state words past those known
	Tail       []byte   // bytes after the state, unless they are the names and their padding
}

// Ident is the build banner.
type Ident struct {
	Text string
	Tail []byte // bytes from +0x08, when not the text and its padding
}

// Symtab is the symbol table.
type Symtab struct {
	SymOff  uint32
	StrOff  uint32
	StrSize uint32
	Symbols []Symbol
	Strings []byte // string table, when not a NUL and the names in order
	Tail    []byte // bytes after the command's known fields, normally none
}

// Symbol is one entry of the symbol table.
type Symbol struct {
	Name    string
	NameOff uint32
	Type    uint8
	Sect    uint8 // section from 1, 0 none
	Desc    uint16
	Value   uint64
}

// Raw is a command kept as it was, because its number or its flavour is unknown.
type Raw struct {
	Cmd  uint32
	Data []byte // everything after the size word
}

// Kind implements Command.
func (*Segment) Kind() uint32 { return CmdSegment }

// Kind implements Command.
func (*Port) Kind() uint32 { return CmdPort }

// Kind implements Command.
func (*Program) Kind() uint32 { return CmdThread }

// Kind implements Command.
func (*Tensor) Kind() uint32 { return CmdThread }

// Kind implements Command.
func (*Ident) Kind() uint32 { return CmdIdent }

// Kind implements Command.
func (*Symtab) Kind() uint32 { return CmdSymtab }

// Kind implements Command.
func (r *Raw) Kind() uint32 { return r.Cmd }
