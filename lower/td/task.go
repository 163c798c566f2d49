package td

import (
	"fmt"
	"slices"
	"sort"
)

// Version is the descriptor version of h13 containers.
const Version = 7

// Span is a run of consecutive registers that a task writes.
type Span struct {
	Addr  uint32 // register byte address of the first
	Count int
}

// Task is one task: the value of every field and which registers it writes. A register that is not written keeps its
// reset value, taken to be zero.
type Task struct {
	val   []uint32 // raw field values, indexed by Field
	Spans []Span   // records in stream order; nil means the default (DefaultSpans)
	err   error    // first value that did not fit
}

// New returns a task with every field zero.
func New() *Task { return &Task{val: make([]uint32, len(table))} }

// Get returns the field's value, in the row's unit (bytes for an address).
func (t *Task) Get(f Field) uint32 { return t.val[f] * table[f].Unit }

// Int returns the field's value as an int.
func (t *Task) Int(f Field) int { return int(t.Get(f)) }

// On reports whether a flag is set.
func (t *Task) On(f Field) bool { return t.val[f] != 0 }

// Set sets the field to a value in the row's unit. A value that does not fit, or is not a multiple of the unit, is
// remembered and reported by Encode and Err.
func (t *Task) Set(f Field, v int) *Task {
	r := &table[f]
	switch {
	case v < 0 || uint64(v) > r.Max():
		t.fail(fmt.Errorf("%s = %d: the field holds 0..%d", r.Name, v, r.Max()))
	case v%int(r.Unit) != 0:
		t.fail(fmt.Errorf("%s = %d: not a multiple of %d", r.Name, v, r.Unit))
	default:
		t.val[f] = uint32(v) / r.Unit
	}
	return t
}

// SetBool sets or clears a flag.
func (t *Task) SetBool(f Field, on bool) *Task {
	t.val[f] = 0
	if on {
		t.val[f] = 1
	}
	return t
}

func (t *Task) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Err returns the first value that did not fit its field.
func (t *Task) Err() error { return t.err }

// Clone returns an independent copy.
func (t *Task) Clone() *Task {
	c := *t
	c.val = append([]uint32(nil), t.val...)
	c.Spans = slices.Clone(t.Spans) // nil and empty differ
	return &c
}

// word assembles one register or header word from its fields.
func (t *Task) word(b *Block, i int) uint32 {
	var w uint32
	for _, f := range words[b][i] {
		w |= t.val[f] << table[f].Bit
	}
	return w
}

// setWord splits one word into its fields.
func (t *Task) setWord(b *Block, i int, w uint32) {
	for _, f := range words[b][i] {
		r := &table[f]
		t.val[f] = w >> r.Bit & (1<<r.Width - 1)
	}
}

// HeaderWords returns 10, or 11 if header word 9 requires the extra word.
func (t *Task) HeaderWords() int {
	if t.word(Header, 9)&3 == 3 {
		return 11
	}
	return 10
}

// Words returns the number of words that Encode returns.
func (t *Task) Words() int {
	n := t.HeaderWords()
	for _, s := range t.spans() {
		n += 1 + s.Count
	}
	return n
}

// DefaultSpans returns the records that current compilers write: all blocks in Order, the kernel block without its
// lanes' addresses and sizes if the task streams no coefficients. With full set every block is written whole.
func DefaultSpans(kernel, full bool) []Span {
	var out []Span
	for _, b := range Order {
		if b == Kernel && !kernel && !full {
			// 18 words up to the last lane's configuration, then the twelve words of the four streams.
			out = append(out, Span{b.Base, 18}, Span{b.Base + 0xc8, 12})
			continue
		}
		out = append(out, Span{b.Base, b.Words})
	}
	return out
}

func (t *Task) spans() []Span {
	if t.Spans != nil {
		return t.Spans
	}
	return DefaultSpans(t.On(KernelOn), false)
}

// Written reports whether the task writes the register that contains f.
func (t *Task) Written(f Field) bool {
	r := &table[f]
	if r.Block == Header {
		return int(r.Addr/4) < t.HeaderWords()
	}
	for _, s := range t.spans() {
		if r.Addr >= s.Addr && r.Addr < s.Addr+4*uint32(s.Count) {
			return true
		}
	}
	return false
}

// WordIndex returns the index of the field's word in what Encode returns, or false if the task does not write it.
func (t *Task) WordIndex(f Field) (int, bool) {
	r := &table[f]
	if r.Block == Header {
		return int(r.Addr / 4), int(r.Addr/4) < t.HeaderWords()
	}
	n := t.HeaderWords()
	for _, s := range t.spans() {
		if r.Addr >= s.Addr && r.Addr < s.Addr+4*uint32(s.Count) {
			return n + 1 + int(r.Addr-s.Addr)/4, true
		}
		n += 1 + s.Count
	}
	return 0, false
}

// blockOf returns the block that contains all of a span, or nil.
func blockOf(s Span) *Block {
	i := sort.Search(len(byBase), func(i int) bool { return byBase[i].Base > s.Addr }) - 1
	if i < 0 {
		return nil
	}
	b := byBase[i]
	if s.Addr%4 != 0 || s.Count < 1 || uint64(s.Addr)+4*uint64(s.Count) > uint64(b.Base)+4*uint64(b.Words) {
		return nil
	}
	return b
}

var byBase = func() []*Block {
	bs := append([]*Block(nil), Order...)
	sort.Slice(bs, func(i, j int) bool { return bs[i].Base < bs[j].Base })
	return bs
}()
