package hwx

import "fmt"

const (
	symtabSize = 24
	symbolSize = 16
)

func (r *reader) symtab(b body) (Command, error) {
	if err := b.need(symtabSize, "a symbol table"); err != nil {
		return nil, err
	}
	n := uint64(b.w(12))
	t := &Symtab{SymOff: b.w(8), StrOff: b.w(16), StrSize: b.w(20)}
	if err := r.claim(uint64(t.SymOff), n*symbolSize, b.at+8, b.field+".symoff"); err != nil {
		return nil, err
	}
	if err := r.claim(uint64(t.StrOff), uint64(t.StrSize), b.at+16, b.field+".stroff"); err != nil {
		return nil, err
	}
	if len(b.b) > symtabSize {
		t.Tail = b.b[symtabSize:]
	}
	r.later = append(r.later, func() error { return t.load(r.data, int(n)) })
	return t, nil
}

// load reads the symbols; the ranges of both tables lie inside data. Names share
// one copy of the string table.
func (t *Symtab) load(data []byte, n int) error {
	strs := data[t.StrOff : uint64(t.StrOff)+uint64(t.StrSize)]
	all := string(strs)
	t.Symbols = make([]Symbol, n)
	next, regular := uint64(1), len(strs) > 0 && strs[0] == 0
	for i := range t.Symbols {
		at := uint64(t.SymOff) + symbolSize*uint64(i)
		p := data[at:]
		s := Symbol{NameOff: le.Uint32(p), Type: p[4], Sect: p[5], Desc: le.Uint16(p[6:]), Value: le.Uint64(p[8:])}
		field := fmt.Sprintf("symbol %d.name", i)
		if uint64(s.NameOff) >= uint64(len(strs)) {
			return &FormatError{Off: int64(at), Field: field, Msg: fmt.Sprintf("offset must lie inside the string table of %#x bytes", len(strs)), Val: s.NameOff}
		}
		length := cstringLen(strs[s.NameOff:])
		if length < 0 {
			return &FormatError{Off: int64(at), Field: field, Msg: fmt.Sprintf("string has no NUL within the string table or %d bytes", maxName), Val: s.NameOff}
		}
		s.Name = all[s.NameOff : int(s.NameOff)+length]
		regular = regular && uint64(s.NameOff) == next
		next += uint64(length) + 1
		t.Symbols[i] = s
	}
	if !regular || next != uint64(len(strs)) {
		t.Strings = strs[:len(strs):len(strs)]
	}
	return nil
}

func (t *Symtab) append(b []byte) ([]byte, error) {
	for _, v := range [...]uint32{t.SymOff, uint32(len(t.Symbols)), t.StrOff, t.StrSize} {
		b = le.AppendUint32(b, v)
	}
	return append(b, t.Tail...), nil
}

// tables gives the bytes of the symbol table and of the string table.
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
		return nil, nil, fmt.Errorf("hwx: string table has %#x bytes, StrSize says %#x", len(strs), t.StrSize)
	}
	return syms, strs, nil
}
