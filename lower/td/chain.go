package td

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
)

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

// A ChainWriter appends the tasks of a chain to a task section. It sets what tasks say about their place in it:
// indices, first and last marks, and next pointers and sizes, or padding, as the version has them.
type ChainWriter struct {
	codec *Codec
	text  []byte
	words []uint32 // of the latest task that was encoded
	last  *Task    // the latest task, which is encoded when the next one is known
	n     int      // tasks so far
	next  int      // where the next one begins, if the version links tasks
}

// NewChainWriter returns a writer that appends to text, from the next multiple of Align, Lead zero bytes first.
func (c *Codec) NewChainWriter(text []byte) *ChainWriter {
	return &ChainWriter{codec: c, text: text, next: c.AlignUp(len(text)) + c.Lead}
}

// Reserve allocates space for tasks that stream no coefficients; others need more.
func (w *ChainWriter) Reserve(tasks int) {
	w.text = slices.Grow(w.text, tasks*w.codec.AlignUp(4*w.codec.Words(New())))
}

// AlignUp returns the least offset from off on at which a task may begin.
func (c *Codec) AlignUp(off int) int { return (off + c.Align - 1) &^ (c.Align - 1) }

// place returns where a task of n bytes begins that may begin at off.
func (c *Codec) place(off, n int) int {
	if c.Page > 0 && off/c.Page != (off+n-1)/c.Page {
		return (off + c.Page - 1) &^ (c.Page - 1)
	}
	return off
}

// Add appends a task, which may be the last of its chain, and returns its byte offset in the section. The task must
// stay as it is until the next call.
func (w *ChainWriter) Add(t *Task, last bool) (offset int, err error) {
	c := w.codec
	if !c.Linked && w.last != nil { // the next task begins where this one ends
		if err := w.flush(); err != nil {
			return 0, err
		}
		w.next = c.AlignUp(len(w.text))
	}
	c.mark(t, w.n, last)
	words := c.Words(t)
	offset = c.place(w.next, 4*words)
	if c.Linked {
		if w.last != nil {
			w.last.Set(NextPointer, offset).Set(NextSize, words-1)
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
		w.next = c.AlignUp(offset + 4*words)
	} else {
		c.fill(t, offset)
	}
	w.text = append(w.text, make([]byte, offset-len(w.text))...)
	w.last, w.n = t, w.n+1
	return offset, nil
}

// mark sets what a task says about its place in the chain, except for where the next one is.
func (c *Codec) mark(t *Task, n int, last bool) {
	t.Set(TID, n).SetBool(EON, last)
	if c.Linked {
		t.SetBool(LNID, n > 0).Set(NextPointer, 0).Set(NextSize, 0)
	}
	if c.Has(KernelLast) {
		t.SetBool(KernelLast, last)
	}
	if last && n > 0 && c.Has(Cache) {
		t.setRaw(Cache.At(cacheMany), uint32(n)<<16|lastOfMany)
	}
	for i := range tags {
		x := &tags[i]
		if !c.Has(x.tag) || !x.on(t) {
			continue
		}
		for k := range max(1, table[x.tag].Array.Len) {
			p := table[x.tag.At(k)].Place(c)
			t.val[x.tag.At(k)] = uint32(n+x.plus) & p.mask()
		}
	}
}

// tags are the fields that hold a task's index, plus a number, if the task uses what they belong to.
var tags = []struct {
	tag  Field
	plus int
	on   func(t *Task) bool
}{
	{KernelTag, 1, func(t *Task) bool { return t.On(KernelOn) }},
	{CoeffTag, 0, func(t *Task) bool { return t.On(KernelOn) }},
	{StreamTag, 0, tableOn},
	{SrcTag, 0, func(t *Task) bool { return t.On(RBE0) }},
	{Src2Tag, 0, func(t *Task) bool { return t.On(RBE1) }},
	{DstTag, 0, func(t *Task) bool { return t.On(WBE) }},
}

// fill sets the padding that a task needs at an offset, and the number of its words.
func (c *Codec) fill(t *Task, offset int) {
	t.Padding = 0
	if t.Spans == nil {
		t.Padding = c.form.padding(offset, c.Words(t))
	}
	t.Set(TaskWords, c.Words(t))
}

// flush encodes the latest task.
func (w *ChainWriter) flush() (err error) {
	if w.words, err = w.codec.appendWords(w.words[:0], w.last); err != nil {
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
	if err := w.flush(); err != nil {
		return nil, err
	}
	return w.text, nil
}

// AppendChain appends tasks to a task section with a ChainWriter. It returns the section and each task's byte offset in
// it.
func (c *Codec) AppendChain(text []byte, tasks []*Task) (_ []byte, offsets []int, err error) {
	w := c.NewChainWriter(text)
	offsets = make([]int, len(tasks))
	for i, t := range tasks {
		if offsets[i], err = w.Add(t, i == len(tasks)-1); err != nil {
			return nil, nil, err
		}
	}
	text, err = w.End()
	return text, offsets, err
}

// Placed is a task and its byte offset in the task section, in a version of the descriptor.
type Placed struct {
	*Task
	Off   int
	Codec *Codec
}

// Clone returns an independent copy.
func (p Placed) Clone() Placed { return Placed{p.Task.Clone(), p.Off, p.Codec} }

// Words returns the number of the task's words.
func (p Placed) Words() int { return p.Codec.Words(p.Task) }

// Readings yields the fields of the task's words; see Codec.Readings.
func (p Placed) Readings(all bool) iter.Seq[Reading] { return p.Codec.Readings(p.Task, all) }

// DecodeChain follows the chain that starts at byte entry of the task section, up to its last task. The first task has
// firstWords words; a version whose tasks state their own sizes does not read it.
func (c *Codec) DecodeChain(text []byte, entry, firstWords int) ([]Placed, error) {
	var out []Placed
	err := c.WalkChain(text, entry, firstWords, func(p Placed) error {
		out = append(out, p.Clone())
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
func (c *Codec) WalkChain(text []byte, entry, firstWords int, visit func(Placed) error) error {
	off, n, last := entry, firstWords, -1
	t := New()
	var ws []uint32
	for {
		// A chain runs forward through its section, which also rules out loops.
		if off <= last {
			return badf(off, "task chain runs backwards, from %#x", last)
		}
		if off < 0 || off%c.Align != 0 {
			return badf(off, "task is not on a multiple of %#x", c.Align)
		}
		n = c.SizeAt(text, off, n)
		if n < c.header || off > len(text) || 4*n > len(text)-off {
			return badf(off, "task of %d words runs past the section's %#x bytes", n, len(text))
		}
		ws = slices.Grow(ws[:0], n)[:n]
		for i := range ws {
			ws[i] = binary.LittleEndian.Uint32(text[off+4*i:])
		}
		if err := c.decodeWords(t, ws, off); err != nil {
			return err
		}
		if err := visit(Placed{t, off, c}); err != nil {
			return err
		}
		next, size, more := c.Next(t, off, n)
		if !more {
			return nil
		}
		if next > int64(len(text)) {
			return badf(off, "next task at %#x is past the section's %#x bytes", next, len(text))
		}
		last, off, n = off, int(next), size
	}
}

// SizeAt returns the number of words of the task at an offset of a task section: what it states itself, or else words,
// which the task before it states, or the container. It is 0 if the section ends before the number.
func (c *Codec) SizeAt(text []byte, off, words int) int {
	p := table[TaskWords].Place(c)
	if p.Block == nil {
		return words
	}
	if at := off + 4*p.Word; off >= 0 && at <= len(text)-4 {
		return int(binary.LittleEndian.Uint32(text[at:]) >> p.Bit & p.mask())
	}
	return 0
}

// Next returns the offset of the task after t, which is at off and has a number of words, and the size that t states
// for it, 0 if none. more is false for the last task of a chain.
func (c *Codec) Next(t *Task, off, words int) (next int64, size int, more bool) {
	if c.Linked {
		return int64(t.Get(NextPointer)), t.Int(NextSize) + 1, t.On(NextPointer)
	}
	return int64(c.AlignUp(off + 4*words)), 0, !t.On(EON)
}
