package hwx

import "fmt"

// Scan decodes as much of a container as possible: from one that was truncated, or that breaks rules, every complete
// part, and the bytes that are present of the truncated part. For a file that Read accepts it returns the same File and
// no faults. Otherwise there is a fault, and the File is only for inspection: sections may have fewer bytes than their
// Size, tables fewer entries than the file says, and commands that do not decode are kept as [Raw]; it is nil if not
// even the header is present. If parts overlap, the first keeps its bytes, so that memory and time stay in proportion
// to the input.
//
// For a truncated file the first fault says where it ends. Further faults follow in the order in which they were found,
// up to a hundred.
func Scan(data []byte) (*File, []*FormatError) {
	s := &scan{}
	r := &reader{data: data, scan: s}
	f, err := r.file()
	if err != nil {
		s.fault(err)
		if len(data) < headerSize {
			return nil, []*FormatError{cutHeader(len(data))}
		}
	}
	return f, s.list()
}

// scan collects the faults of a file that is read despite them.
type scan struct {
	end    *FormatError // where the file ends early
	faults []*FormatError
	behind []*FormatError // what follows from the early end, if there is one
}

func (s *scan) fault(err error) {
	if e, ok := err.(*FormatError); ok && len(s.faults) < maxProblems {
		s.faults = append(s.faults, e)
	}
}

// past records a fault, as a consequence of the early end if there is one.
func (s *scan) past(err error) {
	if e, ok := err.(*FormatError); ok && len(s.behind) < maxProblems {
		s.behind = append(s.behind, e)
	}
}

func (s *scan) list() []*FormatError {
	if s.end != nil {
		return append([]*FormatError{s.end}, s.faults...)
	}
	return append(s.faults, s.behind...)
}

// commandsEnd records that the commands end with an incomplete one at byte off.
func (s *scan) commandsEnd(err *FormatError, data []byte, off int64, field string) {
	rest := data[off:]
	if len(rest) >= 8 {
		if cs := int64(le.Uint32(rest[4:])); cs >= 8 && cs > int64(len(rest)) {
			s.end = &FormatError{
				Off:   int64(len(data)),
				Field: field + "." + fieldAt(rest),
				Msg: fmt.Sprintf("the file ends inside this command; %#x of %#x bytes are present", len(rest),
					cs),
			}
			return
		}
		s.fault(err)
		return
	}
	s.end = &FormatError{
		Off:   int64(len(data)),
		Field: field + "." + fieldAt(rest),
		Msg:   "the file ends before this command",
	}
}

// cut finds the first of the disjoint claims, in their order, that exceeds the n bytes of the file.
func (s *scan) cut(claims []*claim, n int64) {
	if s.end != nil {
		return
	}
	more := 0
	for _, c := range claims {
		switch {
		case c.end <= n:
		case s.end != nil:
			more++
		case c.off >= n:
			s.end = &FormatError{
				Off:   n,
				Field: c.what,
				Msg: fmt.Sprintf("the file ends before it: it is at %#x to %#x, as %s at byte %#x says", c.off,
					c.end, c.field, c.at),
			}
		default:
			s.end = &FormatError{
				Off:   n,
				Field: c.what,
				Msg: fmt.Sprintf("the file ends inside it: it is at %#x to %#x, as %s at byte %#x says; "+
					"%#x of %#x bytes are present", c.off, c.end, c.field, c.at, n-c.off, c.end-c.off),
			}
		}
	}
	if more > 0 {
		s.end.Msg += fmt.Sprintf("; %d more parts follow it", more)
	}
}

// cutHeader returns the fault of a file of n bytes that ends inside its header.
func cutHeader(n int) *FormatError {
	return &FormatError{
		Off:   int64(n),
		Field: "header." + named(headerFields, n),
		Msg:   fmt.Sprintf("file ends inside the %d-byte header", headerSize),
		Val:   n,
	}
}

// place is a field's name and byte offset in a structure.
type place struct {
	off  int
	name string
}

// named returns the name of the last field that begins at or before byte at.
func named(l []place, at int) string {
	name := ""
	for _, p := range l {
		if p.off <= at {
			name = p.name
		}
	}
	return name
}

// The fields of the structures, as in the table in format.go.
var (
	headerFields = []place{{0, "magic"}, {4, "cputype"}, {8, "cpusubtype"}, {12, "filetype"}, {16, "ncmds"},
		{20, "sizeofcmds"}, {24, "flags"}, {28, "reserved"}}
	everyCommand = []place{{0, "number"}, {4, "size"}}
	sectionField = []place{{0, "name"}, {16, "segment name"}, {32, "addr"}, {40, "size"}, {48, "offset"}, {52, "align"},
		{56, "reloff"}, {60, "nreloc"}, {64, "flags"}, {68, "reserved"}}
	programField = []place{{8, "flavour"}, {12, "words"}, {stateOff, "buffer-access registers"}, {progEntry, "entry"},
		{progFirst, "first task's words"}, {progTasks, "tasks"}, {prog820, "state"}, {progNameOff, "name offset"},
		{prog840, "state"}}
	tensorField = []place{{8, "flavour"}, {12, "words"}, {0x10, "state"}, {0x14, "binding"}, {0x18, "procedure"},
		{0x20, "name offset"}, {0x24, "element"}, {0x28, "dims"}, {0x38, "state"}, {0x50, "strides"},
		{0x70, "batch bytes"}, {0x78, "state"}, {0x7c, "second name"}, {0x80, "span"}, {tensorFixed, "names"}}

	commandFields = map[uint32][]place{
		CmdSegment: {{8, "name"}, {24, "vmaddr"}, {32, "vmsize"}, {40, "fileoff"}, {48, "filesize"}, {56, "maxprot"},
			{60, "initprot"}, {64, "nsects"}, {68, "flags"}},
		CmdPort:   {{8, "name offset"}, {12, "unknown"}, {16, "address"}, {portFixed, "name"}},
		CmdIdent:  {{8, "text"}},
		CmdSymtab: {{8, "symoff"}, {12, "nsyms"}, {16, "stroff"}, {20, "strsize"}},
	}
)

// fieldAt names the field of a truncated command at which its bytes end.
func fieldAt(b []byte) string {
	n := len(b)
	if n < 8 {
		return named(everyCommand, n)
	}
	cmd := le.Uint32(b)
	switch {
	case cmd == CmdSegment && n >= segmentSize:
		i := n - segmentSize
		return fmt.Sprintf("section %d.%s", i/sectionSize, named(sectionField, i%sectionSize))
	case cmd == CmdThread && n >= 12 && le.Uint32(b[8:]) == FlavorTensor:
		return named(tensorField, n)
	case cmd == CmdThread && n >= 12 && le.Uint32(b[8:]) == FlavorPacked:
		return named(packedField, n)
	case cmd == CmdThread:
		return named(programField, n)
	}
	if s := named(commandFields[cmd], n); s != "" {
		return s
	}
	return "contents"
}
