package td

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Align is the byte alignment of a task in the task section.
const Align = 0x100

// FormatError reports a task stream that breaks a rule, with the byte offset in the task section.
type FormatError struct {
	Off int64
	Msg string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("task section byte %#x: %s", e.Off, e.Msg)
}

func badf(off int, format string, args ...any) error {
	return &FormatError{Off: int64(off), Msg: fmt.Sprintf(format, args...)}
}

// Encode returns the task's words: the header, then one record for each span.
func (t *Task) Encode() ([]uint32, error) {
	return t.appendWords(make([]uint32, 0, t.Words()))
}

// appendWords appends what Encode returns.
func (t *Task) appendWords(out []uint32) ([]uint32, error) {
	if t.err != nil {
		return nil, t.err
	}
	out = append(out, t.reg[:t.HeaderWords()]...)
	for _, s := range t.spans() {
		b := blockOf(s)
		if b == nil || s.Count > 64 {
			return nil, fmt.Errorf("record of %d words at %#x lies outside every register block", s.Count, s.Addr)
		}
		out = append(out, uint32(s.Count-1)<<26|s.Addr)
		out = append(out, t.registers(b, s)...)
	}
	return out, nil
}

// Decode reads one task from ws, which must be exactly its words.
func Decode(ws []uint32) (*Task, error) {
	t := New()
	if err := t.decode(ws, 0); err != nil {
		return nil, err
	}
	return t, nil
}

// decode sets a task that is zero from its words, which are at byte off of the task section.
func (t *Task) decode(ws []uint32, off int) error {
	if len(ws) < 10 {
		return badf(off, "task of %d words: the header alone takes 10", len(ws))
	}
	n := headerWords(ws[9])
	if len(ws) < n {
		return badf(off, "task of %d words: header word 9 = %#x calls for an eleventh header word", len(ws), ws[9])
	}
	copy(t.reg[:n], ws)
	var list [16]Span
	spans := list[:0]
	for p := n; p < len(ws); {
		s := Span{Addr: ws[p] & 0x3ffffff, Count: int(ws[p]>>26) + 1}
		b := blockOf(s)
		if b == nil {
			return badf(off+4*p, "record of %d words at register %#x lies outside every register block", s.Count,
				s.Addr)
		}
		if p+1+s.Count > len(ws) {
			return badf(off+4*p, "record of %d words runs past the task's %d words", s.Count, len(ws))
		}
		// A task has one value for each register, and no recorded task writes a register twice.
		if twice, ok := s.overlap(spans); ok {
			return badf(off+4*(p+1+int(twice-s.Addr)/4), "register %#x is written twice", twice)
		}
		copy(t.registers(b, s), ws[p+1:])
		spans = append(spans, s)
		p += 1 + s.Count
	}
	t.Spans = sharedSpans(spans)
	return nil
}

// sharedSpans returns a list of spans that is not nil and outlives the given one: one of the default lists, if it is
// equal to them.
func sharedSpans(spans []Span) []Span {
	for _, l := range [...][]Span{shortSpans, wholeSpans} {
		if slices.Equal(spans, l) {
			return l
		}
	}
	return append([]Span{}, spans...)
}

// EncodeChain links the tasks (next pointers and sizes, task indices, first and last marks). It returns their bytes and
// each task's byte offset, counted from base, which is the offset of the chain in the task section (a multiple of
// Align).
func EncodeChain(tasks []*Task, base int) (text []byte, offsets []int, err error) {
	offsets = make([]int, len(tasks))
	end := base
	for i, t := range tasks {
		end = (end + Align - 1) &^ (Align - 1)
		offsets[i] = end
		end += 4 * t.Words()
	}
	text = make([]byte, end-base)
	var ws []uint32
	for i, t := range tasks {
		t.Set(TID, i).SetBool(LNID, i > 0).SetBool(EON, i == len(tasks)-1)
		t.Set(NextPointer, 0).Set(NextSize, 0)
		if i+1 < len(tasks) {
			t.Set(NextPointer, offsets[i+1]).Set(NextSize, tasks[i+1].Words()-1)
		}
		if ws, err = t.appendWords(ws[:0]); err != nil {
			return nil, nil, fmt.Errorf("task %d: %w", i, err)
		}
		p := text[offsets[i]-base:]
		for j, w := range ws {
			binary.LittleEndian.PutUint32(p[4*j:], w)
		}
	}
	return text, offsets, nil
}

// Placed is a task and its byte offset in the task section.
type Placed struct {
	*Task
	Off int
}

// DecodeChain follows the chain that starts at byte entry of the task section with a task of firstWords words, up to
// the task whose next pointer is zero.
func DecodeChain(text []byte, entry, firstWords int) ([]Placed, error) {
	var out []Placed
	err := WalkChain(text, entry, firstWords, func(p Placed) error {
		out = append(out, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// WalkChain calls visit for each task that DecodeChain would return, in their order. It stops at the first task that is
// missing or breaks a rule and returns the error, or at an error of visit.
func WalkChain(text []byte, entry, firstWords int, visit func(Placed) error) error {
	off, n, last := entry, firstWords, -1
	var ws []uint32
	for {
		// A chain runs forward through its section, which also rules out loops.
		if off <= last {
			return badf(off, "task chain runs backwards, from %#x", last)
		}
		if off < 0 || off%Align != 0 {
			return badf(off, "task is not on a multiple of %#x", Align)
		}
		if n < 10 || off > len(text) || 4*n > len(text)-off {
			return badf(off, "task of %d words runs past the section's %#x bytes", n, len(text))
		}
		ws = slices.Grow(ws[:0], n)[:n]
		for i := range ws {
			ws[i] = binary.LittleEndian.Uint32(text[off+4*i:])
		}
		t := New()
		if err := t.decode(ws, off); err != nil {
			return err
		}
		if err := visit(Placed{t, off}); err != nil {
			return err
		}
		next := t.Get(NextPointer)
		if next == 0 {
			return nil
		}
		if int64(next) > int64(len(text)) {
			return badf(off, "next task at %#x lies past the section's %#x bytes", next, len(text))
		}
		last, off, n = off, int(next), t.Int(NextSize)+1
	}
}
