package td

import (
	"fmt"
	"slices"
)

// Version is the descriptor version of h13 containers.
const Version = 7

// Span is a run of consecutive registers that a task writes.
type Span struct {
	Addr  uint32 // register byte address of the first
	Count int
}

// end returns the address after the last register.
func (s Span) end() uint32 { return s.Addr + 4*uint32(s.Count) }

// overlap returns the first register of the span that another of the given spans has too, or false.
func (s Span) overlap(others []Span) (addr uint32, ok bool) {
	addr = s.end()
	for _, o := range others {
		if at := max(s.Addr, o.Addr); at < min(addr, o.end()) {
			addr, ok = at, true
		}
	}
	return addr, ok
}

// Task is one task: the value of every field and which registers it writes. A register that is not written keeps its
// reset value, taken to be zero.
type Task struct {
	// reg are the header words and then the registers of the blocks in Order, written or not. The fields cover every
	// bit of them, so these words are the values of all fields.
	reg   [taskWords]uint32
	Spans []Span // records in stream order; nil means the default (DefaultSpans). Tasks may share them.
	err   error  // first value that did not fit
}

// New returns a task with every field zero.
func New() *Task { return new(Task) }

// raw returns the field's value as it is stored, without its unit.
func (t *Task) raw(f Field) uint32 {
	p := &places[f]
	return t.reg[p.word] >> p.bit & p.mask
}

func (t *Task) setRaw(f Field, v uint32) {
	p := &places[f]
	t.reg[p.word] = t.reg[p.word]&^(p.mask<<p.bit) | v<<p.bit
}

// Get returns the field's value, in the row's unit (bytes for an address).
func (t *Task) Get(f Field) uint32 { return t.raw(f) * places[f].unit }

// Int returns the field's value as an int.
func (t *Task) Int(f Field) int { return int(t.Get(f)) }

// On reports whether a flag is set.
func (t *Task) On(f Field) bool { return t.raw(f) != 0 }

// Set sets the field to a value in the row's unit. A value that does not fit, or is not a multiple of the unit, is
// remembered and reported by Encode and Err.
func (t *Task) Set(f Field, v int) *Task {
	p := &places[f]
	switch {
	case v < 0 || uint64(v) > uint64(p.mask)*uint64(p.unit):
		t.fail(fmt.Errorf("%s = %d: the field holds 0..%d", f, v, table[f].Max()))
	case uint32(v)%p.unit != 0:
		t.fail(fmt.Errorf("%s = %d: not a multiple of %d", f, v, p.unit))
	default:
		t.setRaw(f, uint32(v)/p.unit)
	}
	return t
}

// SetBool sets or clears a flag.
func (t *Task) SetBool(f Field, on bool) *Task {
	v := uint32(0)
	if on {
		v = 1
	}
	t.setRaw(f, v)
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
	c.Spans = slices.Clone(t.Spans) // nil and empty differ
	return &c
}

// HeaderWords returns 10, or 11 if header word 9 requires the extra word.
func (t *Task) HeaderWords() int {
	return headerWords(t.reg[9])
}

// headerWords returns the number of header words of a task with the given header word 9.
func headerWords(w9 uint32) int {
	if w9&3 == 3 {
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
// lanes' addresses and sizes if the task streams no coefficients. With full set every block is written whole. The
// caller must not change them.
func DefaultSpans(kernel, full bool) []Span {
	if kernel || full {
		return wholeSpans
	}
	return shortSpans
}

var (
	wholeSpans = func() (out []Span) {
		for _, b := range Order {
			out = append(out, Span{b.Base, b.Words})
		}
		return out
	}()
	// shortSpans have 18 words of the kernel block, up to the last lane's configuration, then the twelve of its four
	// streams.
	shortSpans = append([]Span{{Kernel.Base, 18}, {Kernel.Base + 0xc8, 12}}, wholeSpans[1:]...)
)

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
		if r.Addr >= s.Addr && r.Addr < s.end() {
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
		if r.Addr >= s.Addr && r.Addr < s.end() {
			return n + 1 + int(r.Addr-s.Addr)/4, true
		}
		n += 1 + s.Count
	}
	return 0, false
}

// blockOf returns the block that contains all of a span, or nil.
func blockOf(s Span) *Block {
	for _, b := range Order {
		if s.Addr >= b.Base && s.Addr%4 == 0 && s.Count >= 1 &&
			uint64(s.Addr)+4*uint64(s.Count) <= uint64(b.Base)+4*uint64(b.Words) {
			return b
		}
	}
	return nil
}

// registers returns the words of a task that a span of block b writes.
func (t *Task) registers(b *Block, s Span) []uint32 {
	first := b.first + int(s.Addr-b.Base)/4
	return t.reg[first : first+s.Count]
}
