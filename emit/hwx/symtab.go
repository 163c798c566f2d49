package hwx

import "fmt"

const (
	symtabSize = 24
	// SymbolSize is the bytes of a symbol.
	SymbolSize = 16
)

func (r *reader) symtab(b body) (Command, error) {
	if err := b.need(symtabSize, "a symbol table"); err != nil {
		return nil, err
	}
	n := uint64(b.w(12))
	t := &Symtab{SymOff: b.w(8), StrOff: b.w(16), StrSize: b.w(20)}
	syms, err := r.claim(uint64(t.SymOff), n*SymbolSize, b.at+8, b.field+".symoff", "symbol table")
	if err != nil {
		return nil, err
	}
	strs, err := r.claim(uint64(t.StrOff), uint64(t.StrSize), b.at+16, b.field+".stroff", "string table")
	if err != nil {
		return nil, err
	}
	if len(b.b) > symtabSize {
		t.Tail = b.b[symtabSize:]
	}
	r.later = append(r.later, func() error {
		err := t.load(r.bytes(syms), r.bytes(strs), r.scan != nil)
		if err != nil && r.scan != nil {
			r.scan.past(err)
			err = nil
		}
		return err
	})
	return t, nil
}

// load reads the symbols from the bytes of both tables. Names share one copy of the string table. If on is set, a
// symbol whose name is missing does not end the reading: it gets what is present of the name, and the first such symbol
// is reported as the error.
func (t *Symtab) load(syms, strs []byte, on bool) (first error) {
	all := string(strs)
	t.Symbols = make([]Symbol, len(syms)/SymbolSize)
	next, regular := uint64(1), len(strs) > 0 && strs[0] == 0
	for i := range t.Symbols {
		p := syms[SymbolSize*i:]
		s := Symbol{NameOff: le.Uint32(p), Type: p[4], Sect: p[5], Desc: le.Uint16(p[6:]), Value: le.Uint64(p[8:])}
		bad := func(msg string, args ...any) error {
			return &FormatError{
				Off:   int64(t.SymOff) + SymbolSize*int64(i),
				Field: fmt.Sprintf("symbol %d.name", i),
				Msg:   fmt.Sprintf(msg, args...),
				Val:   s.NameOff,
			}
		}
		length, err := 0, error(nil)
		if uint64(s.NameOff) >= uint64(len(strs)) {
			err = bad("offset must be inside the string table of %#x bytes", len(strs))
		} else if length = cstringLen(strs[s.NameOff:]); length < 0 {
			err = bad("string has no NUL within the string table or %d bytes", maxName)
			length = min(len(strs)-int(s.NameOff), maxName)
		}
		if err != nil {
			if !on {
				return err
			}
			if first == nil {
				first = err
			}
			regular = false
		}
		if length > 0 {
			s.Name = all[s.NameOff : int(s.NameOff)+length]
		}
		regular = regular && uint64(s.NameOff) == next
		next += uint64(length) + 1
		t.Symbols[i] = s
	}
	if !regular || next != uint64(len(strs)) {
		t.Strings = strs
	}
	return first
}

func (t *Symtab) append(b []byte) ([]byte, error) {
	for _, v := range [...]uint32{t.SymOff, uint32(len(t.Symbols)), t.StrOff, t.StrSize} {
		b = le.AppendUint32(b, v)
	}
	return append(b, t.Tail...), nil
}

// tables returns the bytes of the symbol table and of the string table.
func (t *Symtab) tables() (syms, strs []byte, err error) {
	strs = t.Strings
	if strs == nil {
		strs = []byte{0}
	}
	for _, s := range t.Symbols {
		off := s.NameOff
		if t.Strings == nil {
			if err := checkName("symbol", s.Name); err != nil {
				return nil, nil, err
			}
			off = uint32(len(strs))
			strs = append(strs, s.Name...)
			strs = append(strs, 0)
		}
		syms = le.AppendUint32(syms, off)
		syms = append(syms, s.Type, s.Sect)
		syms = le.AppendUint16(syms, s.Desc)
		syms = le.AppendUint64(syms, s.Value)
	}
	if uint64(len(strs)) != uint64(t.StrSize) {
		return nil, nil, fmt.Errorf("hwx: string table has %#x bytes, but StrSize says %#x", len(strs), t.StrSize)
	}
	return syms, strs, nil
}
