package td

import (
	"fmt"
	"slices"
)

// V7 is the codec of version 7, which h13 containers have: a header of ten or eleven words, then records, each of them
// a word with address and count and the words of consecutive registers of one block. No task lies on two pages (batches
// of 375 rows, public records: the task that would follow the one at 0x3c00 begins at 0x4000).
var V7 = &Codec{
	Version: 7, Name: "ZinAneTd<7>", Blocks: []*Block{Header, Kernel, Common, TileSrc, L2, PE, NE, TileDst},
	Align: 0x100, Page: 0x4000, layout: layoutV7,
}

// V7Full writes version 7 as the compilers that wrote every record whole. V7 reads it.
var V7Full = &Codec{
	Version: V7.Version, Name: V7.Name, Blocks: V7.Blocks, Align: V7.Align, Page: V7.Page, Older: true,
	layout: layoutV7,
}

// Blocks of version 7, in the order of every recorded task.
var (
	Header = &Block{
		Name:  "Header",
		Words: 11,
		Doc:   "task header of ten words, and an eleventh if KBase0 and KBE0 select a runtime kernel",
	}
	Kernel = &Block{
		Name:  "KernelDMA",
		Base:  0x1f800,
		Words: 62,
		Doc:   "kernel DMA: sixteen coefficient lanes and four streams",
	}
	Common  = &Block{Name: "Common", Base: 0x00000, Words: 16, Doc: "dimensions, convolution geometry, tiling"}
	TileSrc = &Block{Name: "TileDMASrc", Base: 0x13800, Words: 28, Doc: "tile DMA, two sources"}
	L2      = &Block{Name: "L2", Base: 0x04800, Words: 18, Doc: "L2 source, second source, result"}
	PE      = &Block{Name: "PE", Base: 0x08800, Words: 4, Doc: "planar engine"}
	NE      = &Block{Name: "NE", Base: 0x0c800, Words: 5, Doc: "neural engine"}
	TileDst = &Block{Name: "TileDMADst", Base: 0x17800, Words: 7, Doc: "tile DMA destination"}
)

// headerMin is the least number of header words.
const headerMin = 10

// maxRecord is the largest number of words of a record.
const maxRecord = 64

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

// headerWords returns the number of header words of a task with the given header word 9.
func headerWords(w9 uint32) int {
	if w9&3 == 3 {
		return headerMin + 1
	}
	return headerMin
}

// HeaderWords returns 10, or 11 if header word 9 requires the extra word.
func (c *Codec) HeaderWords(t *Task) int { return headerWords(t.val[KBase0]) }

// wholeSpans are the records of tasks that have every block whole. shortSpans have 18 words of the kernel block, up to
// the last lane's configuration, then the twelve of its four streams.
var (
	wholeSpans = func() (out []Span) {
		for _, b := range V7.Blocks[1:] {
			out = append(out, Span{b.Base, b.Words})
		}
		return out
	}()
	shortSpans = append([]Span{{Kernel.Base, 18}, {Kernel.Base + 0xc8, 12}}, wholeSpans[1:]...)
)

// currentSpans returns the records that current compilers write: all blocks, the kernel block without its lanes'
// addresses and sizes if the task streams no coefficients.
func currentSpans(t *Task) []Span {
	if t.On(KernelOn) {
		return wholeSpans
	}
	return shortSpans
}

// spans returns the records of a task: its own, or those that the codec writes.
func (c *Codec) spans(t *Task) []Span {
	switch {
	case t.Spans != nil:
		return t.Spans
	case c.Older:
		return wholeSpans
	}
	return currentSpans(t)
}

// Words returns the number of words of a task.
func (c *Codec) Words(t *Task) int {
	n := c.HeaderWords(t)
	for _, s := range c.spans(t) {
		n += 1 + s.Count
	}
	return n
}

// WordIndex returns the index of the field's word among the words of a task, or false if the task does not write it.
func (c *Codec) WordIndex(t *Task, f Field) (int, bool) {
	p := table[f].Place(c)
	switch p.Block {
	case nil: // the version does not have the field
		return 0, false
	case c.Blocks[0]:
		return p.Word, p.Word < c.HeaderWords(t)
	}
	n, addr := c.HeaderWords(t), p.Addr()
	for _, s := range c.spans(t) {
		if addr >= s.Addr && addr < s.end() {
			return n + 1 + int(addr-s.Addr)/4, true
		}
		n += 1 + s.Count
	}
	return 0, false
}

// FieldsAt returns the fields of a word of the task. A word that is the header of a record or after the task's end has
// none.
func (c *Codec) FieldsAt(t *Task, word int) []Field {
	if word < 0 {
		return nil
	}
	if word < c.HeaderWords(t) {
		return c.fields[word]
	}
	at := c.HeaderWords(t)
	for _, s := range c.spans(t) {
		if b := c.blockOf(s); b != nil && word > at && word <= at+s.Count {
			return c.fields[b.wordAt(s.Addr)+word-at-1]
		}
		at += 1 + s.Count
	}
	return nil
}

// blockOf returns the register block that contains all of a span, or nil.
func (c *Codec) blockOf(s Span) *Block {
	for _, b := range c.Blocks[1:] {
		if s.Addr >= b.Base && s.Addr%4 == 0 && s.Count >= 1 &&
			uint64(s.Addr)+4*uint64(s.Count) <= uint64(b.Base)+4*uint64(b.Words) {
			return b
		}
	}
	return nil
}

// wordAt returns the index of a register of the block among all words of the version.
func (b *Block) wordAt(addr uint32) int { return b.first + int(addr-b.Base)/4 }

// EncodeWords returns the words of a task: the header, then its records.
func (c *Codec) EncodeWords(t *Task) ([]uint32, error) {
	return c.appendWords(make([]uint32, 0, c.Words(t)), t)
}

// wordsV7 is the number of words of the header and of all blocks of version 7.
const wordsV7 = 151

// appendWords appends what EncodeWords returns.
func (c *Codec) appendWords(out []uint32, t *Task) ([]uint32, error) {
	var ws [wordsV7]uint32
	if err := c.pack(ws[:], t); err != nil {
		return nil, err
	}
	out = append(out, ws[:c.HeaderWords(t)]...)
	for _, s := range c.spans(t) {
		b := c.blockOf(s)
		if b == nil || s.Count > maxRecord {
			return nil, fmt.Errorf("record of %d words at %#x is outside every register block", s.Count, s.Addr)
		}
		out = append(out, uint32(s.Count-1)<<26|s.Addr)
		out = append(out, ws[b.wordAt(s.Addr):][:s.Count]...)
	}
	return out, nil
}

// DecodeWords reads one task from ws, which must be exactly its words.
func (c *Codec) DecodeWords(ws []uint32) (*Task, error) {
	t := New()
	if err := c.decodeWords(t, ws, 0); err != nil {
		return nil, err
	}
	return t, nil
}

// DecodeInto sets a task to what DecodeWords returns.
func (c *Codec) DecodeInto(t *Task, ws []uint32) error { return c.decodeWords(t, ws, 0) }

// decodeWords sets a task to what DecodeWords returns, for words at byte off of the task section.
func (c *Codec) decodeWords(t *Task, ws []uint32, off int) error {
	*t = Task{}
	if len(ws) < headerMin {
		return badf(off, "task of %d words: the header alone takes %d", len(ws), headerMin)
	}
	n := headerWords(ws[headerMin-1])
	if len(ws) < n {
		return badf(off, "task of %d words: header word 9 = %#x calls for an eleventh header word", len(ws), ws[9])
	}
	var all [wordsV7]uint32
	copy(all[:n], ws)
	var list [16]Span
	spans := list[:0]
	for p := n; p < len(ws); {
		s := Span{Addr: ws[p] & 0x3ffffff, Count: int(ws[p]>>26) + 1}
		b := c.blockOf(s)
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
		copy(all[b.wordAt(s.Addr):][:s.Count], ws[p+1:])
		spans = append(spans, s)
		p += 1 + s.Count
	}
	c.unpack(t, all[:])
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
