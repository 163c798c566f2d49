package hwx

import (
	"fmt"
)

// Offsets inside a program command. The state's words are counted from 0x10.
const (
	stateOff      = 0x10
	progEntry     = 0x810
	progFirst     = 0x818
	progTasks     = 0x81c
	prog820       = 0x820
	progMask      = 0x824
	prog828       = 0x828
	progNameOff   = 0x83c
	prog840       = 0x840
	tensorFixed   = 0x88
	minProgWords  = (prog840 - stateOff) / 4
	minTensWords  = (tensorFixed - stateOff) / 4
	portFixed     = 0x14
	progMaskValue = 0xffff
)

// state reads the count of state words and returns the offset at which they end.
func (b body) state(min int, what string) (int, error) {
	if err := b.need(stateOff, what); err != nil {
		return 0, err
	}
	words := b.w(12)
	if int64(words) < int64(min) {
		return 0, b.bad(12, "words", fmt.Sprintf("%s has at least %#x words of state", what, min), words)
	}
	if int64(words) > int64(len(b.b)-stateOff)/4 {
		return 0, b.bad(12, "words", fmt.Sprintf("state runs past the command of %#x bytes", len(b.b)), words)
	}
	return stateOff + 4*int(words), nil
}

func (r *reader) program(b body) (Command, error) {
	end, err := b.state(minProgWords, "a program")
	if err != nil {
		return nil, err
	}
	p := &Program{
		Flavor: b.w(8), Entry: b.q(progEntry), FirstLess1: b.w(progFirst), Tasks: b.w(progTasks),
		Unknown820: b.w(prog820), Mask: b.w(progMask),
	}
	for i := range p.Bars {
		p.Bars[i] = b.q(stateOff + 8*i)
	}
	for i := range p.Unknown828 {
		p.Unknown828[i] = b.w(prog828 + 4*i)
	}
	for o := prog840; o < end; o += 4 {
		p.Unknown840 = append(p.Unknown840, b.w(o))
	}
	if p.Name, p.NameOff, err = b.name(progNameOff, "name"); err != nil {
		return nil, err
	}
	return withTail(p, b, &p.Tail, end)
}

func (p *Program) append(b []byte) ([]byte, error) {
	if err := checkName("procedure name", p.Name); err != nil {
		return nil, err
	}
	start := len(b) - 8
	words := minProgWords + len(p.Unknown840)
	if p.Packed != nil {
		words = (progFirst-stateOff)/4 + len(p.Packed)
	}
	b = le.AppendUint32(b, p.Flavor)
	b = le.AppendUint32(b, uint32(words))
	for _, v := range p.Bars {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint64(b, p.Entry)
	if p.Packed != nil {
		b = p.appendPacked(b)
	} else {
		b = p.appendChained(b)
	}
	if p.Tail != nil {
		return append(b, p.Tail...), nil
	}
	return appendNames(b, start, p.Name), nil
}

// appendChained appends the words of the state after the entry.
func (p *Program) appendChained(b []byte) []byte {
	nameOff := p.NameOff
	if p.Tail == nil {
		nameOff = uint32(stateOff + 4*(minProgWords+len(p.Unknown840)))
	}
	for _, v := range [...]uint32{p.FirstLess1, p.Tasks, p.Unknown820, p.Mask} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range p.Unknown828 {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint32(b, nameOff)
	for _, v := range p.Unknown840 {
		b = le.AppendUint32(b, v)
	}
	return b
}

func (r *reader) tensor(b body) (Command, error) {
	end, err := b.state(minTensWords, "a tensor")
	if err != nil {
		return nil, err
	}
	t := &Tensor{
		Unknown10: b.w(0x10), Binding: b.w(0x14), Unknown1C: b.w(0x1c), Element: b.w(0x24), Depth: b.w(0x38),
		BatchBytes: b.q(0x70), Unknown78: b.w(0x78), Span: b.q(0x80),
	}
	for i := range t.Dims {
		t.Dims[i] = b.w(0x28 + 4*i)
		t.Strides[i] = b.q(0x50 + 8*i)
	}
	for i := range t.Unknown3C {
		t.Unknown3C[i] = b.w(0x3c + 4*i)
	}
	for o := tensorFixed; o < end; o += 4 {
		t.More = append(t.More, b.w(o))
	}
	if t.Procedure, t.ProcOff, err = b.name(0x18, "procedure"); err != nil {
		return nil, err
	}
	if t.Name, t.NameOff, err = b.name(0x20, "name"); err != nil {
		return nil, err
	}
	if t.Name2, t.Name2Off, err = b.name(0x7c, "name2"); err != nil {
		return nil, err
	}
	return withTail(t, b, &t.Tail, end)
}

func (t *Tensor) append(b []byte) ([]byte, error) {
	for _, s := range [...]string{t.Procedure, t.Name, t.Name2} {
		if err := checkName("tensor name", s); err != nil {
			return nil, err
		}
	}
	start := len(b) - 8
	words := minTensWords + len(t.More)
	procOff, nameOff, name2Off := t.ProcOff, t.NameOff, t.Name2Off
	if t.Tail == nil {
		procOff = uint32(stateOff + 4*words)
		nameOff = procOff + uint32(len(t.Procedure)) + 1
		name2Off = nameOff + uint32(len(t.Name)) + 1
	}
	for _, v := range [...]uint32{FlavorTensor, uint32(words), t.Unknown10, t.Binding, procOff, t.Unknown1C, nameOff,
		t.Element,
		t.Dims[0], t.Dims[1], t.Dims[2], t.Dims[3], t.Depth,
		t.Unknown3C[0], t.Unknown3C[1], t.Unknown3C[2], t.Unknown3C[3], t.Unknown3C[4]} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range t.Strides {
		b = le.AppendUint64(b, v)
	}
	b = le.AppendUint64(b, t.BatchBytes)
	b = le.AppendUint32(b, t.Unknown78)
	b = le.AppendUint32(b, name2Off)
	b = le.AppendUint64(b, t.Span)
	for _, v := range t.More {
		b = le.AppendUint32(b, v)
	}
	if t.Tail != nil {
		return append(b, t.Tail...), nil
	}
	return appendNames(b, start, t.Procedure, t.Name, t.Name2), nil
}

func (r *reader) port(b body) (Command, error) {
	if err := b.need(portFixed, "a port"); err != nil {
		return nil, err
	}
	p := &Port{Unknown: b.w(12), Addr: b.w(16)}
	var err error
	if p.Name, p.NameOff, err = b.name(8, "name"); err != nil {
		return nil, err
	}
	return withTail(p, b, &p.Tail, portFixed)
}

func (p *Port) append(b []byte) ([]byte, error) {
	if err := checkName("port name", p.Name); err != nil {
		return nil, err
	}
	start := len(b) - 8
	nameOff := p.NameOff
	if p.Tail == nil {
		nameOff = portFixed
	}
	b = le.AppendUint32(b, nameOff)
	b = le.AppendUint32(b, p.Unknown)
	b = le.AppendUint32(b, p.Addr)
	if p.Tail != nil {
		return append(b, p.Tail...), nil
	}
	return appendNames(b, start, p.Name), nil
}

func (r *reader) ident(b body) (Command, error) {
	text := b.b[8:]
	for len(text) > 0 && text[len(text)-1] == 0 {
		text = text[:len(text)-1]
	}
	i := &Ident{Text: string(text)}
	return withTail(i, b, &i.Tail, 8)
}

func (i *Ident) append(b []byte) ([]byte, error) {
	if i.Tail != nil {
		return append(b, i.Tail...), nil
	}
	return appendNames(b, len(b)-8, i.Text), nil
}

func (r *Raw) append(b []byte) ([]byte, error) { return append(b, r.Data...), nil }
