package td

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// recordForm is how a version puts the words of registers into records.
type recordForm interface {
	// spans returns the records that the version writes for a task, in their order.
	spans(t *Task) []Span
	// head returns the first word of a record of a task with the given words; read returns the record that begins with
	// a word, or false if none does.
	head(s Span, ws []uint32) uint32
	read(head uint32) (Span, bool)
	// keep returns Task.Spans of a task that was read with the given records.
	keep(t *Task, spans []Span) []Span
	// complete is Codec.Complete.
	complete(t *Task)
	// padding returns the number of records of no effect in a task at a byte offset whose other words are counted.
	padding(off, words int) int
}

// Span is a record of a task: registers that follow each other, or, with a mask, the first register and, of the sixteen
// after it, the ones whose bits are set.
type Span struct {
	Addr  uint32 // register byte address of the first
	Count int
	Mask  uint16
	Bar   bool // the words are an address, and the head contains its buffer-access register
}

// end returns the address after the last register.
func (s Span) end() uint32 {
	if s.Mask != 0 {
		return s.Addr + 4*uint32(1+bits.Len16(s.Mask))
	}
	return s.Addr + 4*uint32(s.Count)
}

// registers yields the byte addresses of the registers, with their indices.
func (s Span) registers() iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		i := 0
		for addr := s.Addr; addr < s.end(); addr += 4 {
			if n := int(addr-s.Addr) / 4; s.Mask != 0 && n > 0 && s.Mask>>(n-1)&1 == 0 {
				continue
			}
			if !yield(i, addr) {
				return
			}
			i++
		}
	}
}

// index returns the index of a register among the registers of the record, or false.
func (s Span) index(addr uint32) (int, bool) {
	if addr < s.Addr || addr >= s.end() || addr%4 != 0 {
		return 0, false
	}
	n := int(addr-s.Addr) / 4
	if s.Mask == 0 || n == 0 {
		return n, true
	}
	return 1 + bits.OnesCount16(s.Mask&(1<<(n-1)-1)), s.Mask>>(n-1)&1 == 1
}

// HeaderWords returns the number of header words of a task.
func (c *Codec) HeaderWords(t *Task) int { return c.headerWords(c.word(t, c.header-1)) }

// headerWords returns the number of header words of a task from the last of those that every task has.
func (c *Codec) headerWords(last uint32) int {
	if last&3 == 3 {
		return c.header + 1
	}
	return c.header
}

// spans returns the records of a task: its own, or those that the codec writes.
func (c *Codec) spans(t *Task) []Span {
	if t.Spans != nil {
		return t.Spans
	}
	return c.form.spans(t)
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
	n := c.HeaderWords(t)
	for _, s := range c.spans(t) {
		if p.Block == c.Heads {
			if h, ok := c.headOf(s); ok && h == p.Block.first+p.Word {
				return n, true
			}
		} else if i, ok := s.index(p.Addr()); ok {
			return n + 1 + i, true
		}
		n += 1 + s.Count
	}
	return 0, false
}

// FieldsAt returns the fields of a word of the task. A word that is the head of a record has none, unless it contains a
// buffer-access register, and a word after the task's end has none.
func (c *Codec) FieldsAt(t *Task, word int) []Field {
	if word < 0 {
		return nil
	}
	if word < c.HeaderWords(t) {
		return c.fields[word]
	}
	at := c.HeaderWords(t)
	for _, s := range c.spans(t) {
		if word > at+s.Count {
			at += 1 + s.Count
			continue
		}
		if h, ok := c.headOf(s); ok && word == at {
			return c.fields[h]
		}
		if b := c.blockOf(s); b != nil && word > at {
			for i, addr := range s.registers() {
				if i == word-at-1 {
					return c.fields[b.wordAt(addr)]
				}
			}
		}
		return nil
	}
	return nil
}

// headOf returns the index, among all words of the version, of the word that stands for the head of a record with an
// address.
func (c *Codec) headOf(s Span) (word int, ok bool) {
	if !s.Bar {
		return 0, false
	}
	i := slices.IndexFunc(c.addresses, func(a addressRecord) bool { return a.addr == s.Addr && a.words == s.Count })
	if i < 0 {
		return 0, false
	}
	return c.Heads.first + c.addresses[i].head, true
}

// repeats reports whether the version writes a record with an address more than once.
func (c *Codec) repeats(s Span) bool {
	n := 0
	for _, a := range c.addresses {
		if a.addr == s.Addr {
			n++
		}
	}
	return n > 1
}

// blockOf returns the register block that contains all of a span, or nil.
func (c *Codec) blockOf(s Span) *Block {
	for _, b := range c.Blocks[1:] {
		if s.Addr >= b.Base && s.Addr%4 == 0 && s.Count >= 1 &&
			uint64(s.end()) <= uint64(b.Base)+4*uint64(b.Words) && s.end() > s.Addr {
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

// allWords is at least the number of words of the header and of all blocks of a version with records.
const allWords = 336

// appendWords appends what EncodeWords returns.
func (c *Codec) appendWords(out []uint32, t *Task) ([]uint32, error) {
	var ws [allWords]uint32
	if err := c.pack(ws[:], t); err != nil {
		return nil, err
	}
	if c.filling != 0 {
		ws[c.fillerWord] = fillerValue
	}
	spans, first := c.spans(t), len(out)
	out = append(out, ws[:c.HeaderWords(t)]...)
	var written [allWords]bool
	for _, s := range spans {
		b := c.blockOf(s)
		if b == nil || s.Count > maxRecord {
			return nil, fmt.Errorf("record of %d words at %#x is outside every register block", s.Count, s.Addr)
		}
		out = append(out, c.form.head(s, ws[:]))
		if s.Mask == 0 {
			w := b.wordAt(s.Addr)
			out = append(out, ws[w:][:s.Count]...)
			if c.defaults != nil {
				for i := range s.Count {
					written[w+i] = true
				}
			}
			continue
		}
		for _, addr := range s.registers() {
			out = append(out, ws[b.wordAt(addr)])
			written[b.wordAt(addr)] = true
		}
	}
	if c.defaults != nil {
		if err := c.written(ws[:], &written); err != nil {
			return nil, err
		}
	}
	if p := table[TaskWords].Place(c); p.Block != nil {
		w := &out[first+p.Word]
		*w = *w&^(p.mask()<<p.Bit) | uint32(len(out)-first)<<p.Bit
	}
	return out, nil
}

// written reports the first word that no record of a task writes although it is not the default.
func (c *Codec) written(ws []uint32, written *[allWords]bool) error {
	for _, b := range c.Blocks[1:] {
		for w := b.first; w < b.first+b.Words; w++ {
			if !written[w] && ws[w] != c.defaults[w] && w != c.fillerWord {
				return fmt.Errorf("%s register %#05x = %#x: no record of the task writes it, so it has %#x", b.Name,
					b.Base+4*uint32(w-b.first), ws[w], c.defaults[w])
			}
		}
	}
	return nil
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
	if len(ws) < c.header {
		return badf(off, "task of %d words: the header alone takes %d", len(ws), c.header)
	}
	n := c.headerWords(ws[c.header-1])
	if len(ws) < n {
		return badf(off, "task of %d words: header word %d = %#x calls for another header word", len(ws), c.header-1,
			ws[c.header-1])
	}
	var all [allWords]uint32
	copy(all[:], c.defaults)
	copy(all[:n], ws)
	var list [16]Span
	spans, err := c.readRecords(list[:0], &all, ws, n, off)
	if err != nil {
		return err
	}
	if err := c.onlyFields(all[:], off); err != nil {
		return err
	}
	c.unpack(t, all[:])
	if p := table[TaskWords].Place(c); p.Block != nil && t.Int(TaskWords) != len(ws) {
		return badf(off, "header word %d counts %d words, the task has %d", p.Word, t.Get(TaskWords), len(ws))
	}
	t.Spans = c.form.keep(t, spans)
	return nil
}

// readRecords appends the records that begin at word n of a task and sets the words that they write.
func (c *Codec) readRecords(spans []Span, all *[allWords]uint32, ws []uint32, n, off int) ([]Span, error) {
	var seen [allWords]bool
	for p := n; p < len(ws); {
		s, ok := c.form.read(ws[p])
		b := c.blockOf(s)
		switch {
		case !ok:
			return nil, badf(off+4*p, "%#x begins no record", ws[p])
		case b == nil:
			return nil, badf(off+4*p, "record of %d words at register %#x is outside every register block", s.Count,
				s.Addr)
		case p+1+s.Count > len(ws):
			return nil, badf(off+4*p, "record of %d words runs past the task's %d words", s.Count, len(ws))
		}
		if s.Bar {
			h, ok := c.headOf(s)
			if !ok {
				return nil, badf(off+4*p, "%d words at register %#x are no address of a stream", s.Count, s.Addr)
			}
			value := ws[p] & c.bits[h]
			if seen[h] && all[h] != value {
				return nil, badf(off+4*p, "the records of one stream name buffer-access registers %d and %d",
					all[h]>>barBit&barMask, value>>barBit&barMask)
			}
			all[h], seen[h] = value, true
		}
		if err := c.readRegisters(s, b, all, &seen, ws[p+1:], off+4*(p+1)); err != nil {
			return nil, err
		}
		spans = append(spans, s)
		p += 1 + s.Count
	}
	return spans, nil
}

// readRegisters sets the words of a record's registers to those that follow its head, which are at byte off. A task has
// one value for each register, and no recorded task writes a register twice, but for the one that fills a task.
func (c *Codec) readRegisters(
	s Span, b *Block, all *[allWords]uint32, seen *[allWords]bool, ws []uint32, off int,
) error {
	if s.Mask == 0 && !c.filler(s.Addr) {
		first := b.wordAt(s.Addr)
		for i, v := range ws[:s.Count] {
			w := first + i
			if seen[w] && !(s.Bar && c.repeats(s) && all[w] == v) {
				return badf(off+4*i, "register %#x is written twice", s.Addr+4*uint32(i))
			}
			all[w], seen[w] = v, true
		}
		return nil
	}
	for i, addr := range s.registers() {
		w, v := b.wordAt(addr), ws[i]
		switch {
		case c.filler(addr) && v != fillerValue:
			return badf(off+4*i, "register %#x = %#x: it only fills a task, with %#x", addr, v, fillerValue)
		case seen[w] && !c.filler(addr):
			return badf(off+4*i, "register %#x is written twice", addr)
		}
		all[w], seen[w] = v, true
	}
	return nil
}

// onlyFields reports the first word with a bit that belongs to no field and is not as the default has it.
func (c *Codec) onlyFields(ws []uint32, off int) error {
	if c.defaults == nil { // every bit belongs to a field
		return nil
	}
	for i, b := range c.Blocks {
		for w := b.first; w < b.first+b.Words; w++ {
			free := (ws[w] ^ c.defaults[w]) &^ c.bits[w]
			if free == 0 || w == c.fillerWord {
				continue
			}
			if i == 0 {
				return badf(off+4*w, "header word %d = %#x: bits %#x belong to no field", w, ws[w], free)
			}
			return badf(off, "%s register %#05x = %#x: bits %#x belong to no field", b.Name,
				b.Base+4*uint32(w-b.first), ws[w], free)
		}
	}
	return nil
}
