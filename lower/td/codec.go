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
			return nil, fmt.Errorf("record of %d words at %#x is outside every register block", s.Count, s.Addr)
		}
		out = append(out, uint32(s.Count-1)<<26|s.Addr)
		out = append(out, t.registers(b, s)...)
	}
	return out, nil
}

// Decode reads one task from ws, which must be exactly its words.
func Decode(ws []uint32) (*Task, error) {
	t := New()
	if err := t.Decode(ws); err != nil {
		return nil, err
	}
	return t, nil
}

// Decode sets the task to what the function Decode returns.
func (t *Task) Decode(ws []uint32) error { return t.decode(ws, 0) }

// decode is Decode for words at byte off of the task section.
func (t *Task) decode(ws []uint32, off int) error {
	*t = Task{}
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
			return badf(off+4*p, "record of %d words at register %#x is outside every register block", s.Count,
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

// A ChainWriter appends the tasks of a chain to a task section. It links them: next pointers and sizes, task indices,
// first and last marks.
type ChainWriter struct {
	text  []byte
	words []uint32 // of the latest task that was encoded
	last  *Task    // the latest task, which is encoded when the next one is known
	n     int      // tasks so far
	next  int      // where the next one begins
}

// NewChainWriter returns a writer that appends to text, from the next multiple of Align.
func NewChainWriter(text []byte) *ChainWriter {
	return &ChainWriter{text: text, next: alignTask(len(text))}
}

// Reserve allocates space for tasks that stream no coefficients; others need more.
func (w *ChainWriter) Reserve(tasks int) {
	w.text = slices.Grow(w.text, tasks*alignTask(4*New().Words()))
}

func alignTask(off int) int { return (off + Align - 1) &^ (Align - 1) }

// page is the size of a page of the task section, which begins on one. No task lies on two pages (batches of 375 rows,
// public records: the task that would follow the one at 0x3c00 begins at 0x4000).
const page = 0x4000

// placeTask returns where a task of n bytes begins that may begin at off.
func placeTask(off, n int) int {
	if off/page != (off+n-1)/page {
		return (off + page - 1) &^ (page - 1)
	}
	return off
}

// Add appends a task and returns its byte offset in the section. The task must stay as it is until the next call.
func (w *ChainWriter) Add(t *Task) (offset int, err error) {
	words := t.Words()
	offset = placeTask(w.next, 4*words)
	if w.last != nil {
		w.last.Set(NextPointer, offset).Set(NextSize, words-1)
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	t.Set(TID, w.n).SetBool(LNID, w.n > 0).SetBool(EON, false).Set(NextPointer, 0).Set(NextSize, 0)
	w.text = append(w.text, make([]byte, offset-len(w.text))...)
	w.last, w.n, w.next = t, w.n+1, alignTask(offset+4*words)
	return offset, nil
}

// flush encodes the latest task.
func (w *ChainWriter) flush() (err error) {
	if w.words, err = w.last.appendWords(w.words[:0]); err != nil {
		return fmt.Errorf("task %d: %w", w.n-1, err)
	}
	for _, x := range w.words {
		w.text = binary.LittleEndian.AppendUint32(w.text, x)
	}
	return nil
}

// End ends the chain and returns the section.
func (w *ChainWriter) End() ([]byte, error) {
	if w.last == nil {
		return w.text, nil
	}
	w.last.SetBool(EON, true)
	if err := w.flush(); err != nil {
		return nil, err
	}
	return w.text, nil
}

// AppendChain appends tasks to a task section with a ChainWriter. It returns the section and each task's byte offset in
// it.
func AppendChain(text []byte, tasks []*Task) (_ []byte, offsets []int, err error) {
	w := NewChainWriter(text)
	offsets = make([]int, len(tasks))
	for i, t := range tasks {
		if offsets[i], err = w.Add(t); err != nil {
			return nil, nil, err
		}
	}
	text, err = w.End()
	return text, offsets, err
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
		out = append(out, Placed{p.Clone(), p.Off})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// WalkChain calls visit for each task that DecodeChain would return, in their order. The task is valid until visit
// returns. WalkChain stops at the first task that is missing or breaks a rule and returns the error, or at an error of
// visit.
func WalkChain(text []byte, entry, firstWords int, visit func(Placed) error) error {
	off, n, last := entry, firstWords, -1
	t := New()
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
			return badf(off, "next task at %#x is past the section's %#x bytes", next, len(text))
		}
		last, off, n = off, int(next), t.Int(NextSize)+1
	}
}
