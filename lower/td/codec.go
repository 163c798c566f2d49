package td

import (
	"encoding/binary"
	"fmt"
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
	if t.err != nil {
		return nil, t.err
	}
	out := make([]uint32, 0, t.Words())
	for i := range t.HeaderWords() {
		out = append(out, t.word(Header, i))
	}
	for _, s := range t.spans() {
		b := blockOf(s)
		if b == nil || s.Count > 64 {
			return nil, fmt.Errorf("record of %d words at %#x lies outside every register block", s.Count, s.Addr)
		}
		out = append(out, uint32(s.Count-1)<<26|s.Addr)
		first := int(s.Addr-b.Base) / 4
		for i := range s.Count {
			out = append(out, t.word(b, first+i))
		}
	}
	return out, nil
}

// Decode reads one task from ws, which must be exactly its words.
func Decode(ws []uint32) (*Task, error) { return decode(ws, 0) }

func decode(ws []uint32, off int) (*Task, error) {
	if len(ws) < 10 {
		return nil, badf(off, "task of %d words: the header alone takes 10", len(ws))
	}
	t := New()
	n := 10
	if ws[9]&3 == 3 {
		n = 11
	}
	if len(ws) < n {
		return nil, badf(off, "task of %d words: header word 9 = %#x calls for an eleventh header word", len(ws), ws[9])
	}
	for i := range n {
		t.setWord(Header, i, ws[i])
	}
	t.Spans = []Span{}
	written := map[*Block]uint64{} // one bit for each register
	for p := n; p < len(ws); {
		s := Span{Addr: ws[p] & 0x3ffffff, Count: int(ws[p]>>26) + 1}
		b := blockOf(s)
		if b == nil {
			return nil, badf(off+4*p, "record of %d words at register %#x lies outside every register block", s.Count,
				s.Addr)
		}
		if p+1+s.Count > len(ws) {
			return nil, badf(off+4*p, "record of %d words runs past the task's %d words", s.Count, len(ws))
		}
		first := int(s.Addr-b.Base) / 4
		for i := range s.Count {
			// A task has one value for each register, and no recorded task writes a register twice.
			bit := uint64(1) << (first + i)
			if written[b]&bit != 0 {
				return nil, badf(off+4*(p+1+i), "register %#x is written twice", s.Addr+4*uint32(i))
			}
			written[b] |= bit
			t.setWord(b, first+i, ws[p+1+i])
		}
		t.Spans = append(t.Spans, s)
		p += 1 + s.Count
	}
	return t, nil
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
	for i, t := range tasks {
		t.Set(TID, i).SetBool(LNID, i > 0).SetBool(EON, i == len(tasks)-1)
		t.Set(NextPointer, 0).Set(NextSize, 0)
		if i+1 < len(tasks) {
			t.Set(NextPointer, offsets[i+1]).Set(NextSize, tasks[i+1].Words()-1)
		}
		ws, err := t.Encode()
		if err != nil {
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
		ws := make([]uint32, n)
		for i := range ws {
			ws[i] = binary.LittleEndian.Uint32(text[off+4*i:])
		}
		t, err := decode(ws, off)
		if err != nil {
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
