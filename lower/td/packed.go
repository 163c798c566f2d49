package td

import (
	"math/bits"
	"slices"
)

// packed is the form of the records of version 11 and later: of each block the words that differ from their defaults,
// in as few records as possible, then a record for each address, whose head has a buffer-access register.
type packed struct {
	*Codec
	fills  bool          // a task does not end in the last bytes of a line
	finish func(t *Task) // Codec.Complete
	// The word zero is written where the word with is not zero; both are 0 for none.
	zero, with int
}

func (p packed) complete(t *Task) { p.finish(t) }

// A record that does nothing fills a task that would end in the last fillerTail bytes of a line.
const (
	fillerValue = 0xdead
	fillerLine  = 64
	fillerTail  = 16
	fillerWords = 2
)

func (p packed) padding(off, words int) (n int) {
	for p.fills && (off+4*(words+fillerWords*n)-1)%fillerLine >= fillerLine-fillerTail {
		n++
	}
	return n
}

func (p packed) spans(t *Task) (spans []Span) {
	var ws [allWords]uint32
	for i := range p.placed { // a value that does not fit is an error of pack
		x := &p.placed[i]
		ws[x.word] |= t.val[x.field] & x.mask << x.bit
	}
	var regs []uint32
	for _, b := range p.Blocks[1:] {
		regs = regs[:0]
		for i := range b.Words {
			w := b.first + i
			always := p.kept[w] || p.with > 0 && w == p.zero && ws[p.with] != 0
			if always || ws[w] != p.defaults[w] && !p.addressed[w] {
				regs = append(regs, b.Base+4*uint32(i))
			}
		}
		spans = groups(spans, regs)
	}
	for range t.Padding {
		spans = append(spans, Span{Addr: p.filling, Count: 1})
	}
	for _, a := range p.addresses {
		if ws[p.Heads.first+a.head]>>addressBit&1 == 1 && (a.on == nil || a.on(t)) {
			spans = append(spans, Span{Addr: a.addr, Count: a.words, Bar: true})
		}
	}
	return spans
}

// groups appends the records of registers of one block, as few as possible. Of those that lead to the same number, one
// of consecutive registers is before one with a mask, unless it has only one register, and then the longer.
func groups(spans []Span, regs []uint32) []Span {
	type choice struct {
		records, rank, to int
		dense             bool
	}
	best := make([]choice, len(regs)+1)
	for i := len(regs) - 1; i >= 0; i-- {
		best[i].records = len(regs) + 1
		take := func(to, rank int, dense bool) {
			c := choice{records: 1 + best[to].records, rank: rank, to: to, dense: dense}
			if b := best[i]; c.records < b.records || c.records == b.records && c.rank <= b.rank {
				best[i] = c
			}
		}
		for to := i + 1; to <= len(regs) && regs[to-1] == regs[i]+4*uint32(to-1-i) && to-i <= maxRecord; to++ {
			rank := 0
			if to-i == 1 {
				rank = 2
			}
			take(to, rank, true)
		}
		for to := i + 2; to <= len(regs) && regs[to-1] <= regs[i]+64; to++ {
			take(to, 1, false)
		}
	}
	for i := 0; i < len(regs); i = best[i].to {
		s := Span{Addr: regs[i], Count: best[i].to - i}
		for _, r := range regs[i+1 : best[i].to] {
			if !best[i].dense {
				s.Mask |= 1 << ((r-s.Addr)/4 - 1)
			}
		}
		spans = append(spans, s)
	}
	return spans
}

func (p packed) head(s Span, ws []uint32) uint32 {
	switch {
	case s.Bar:
		h, _ := p.headOf(s)
		return ws[h] | uint32(s.Count-1)<<15 | s.Addr/4
	case s.Mask != 0:
		return 1<<31 | uint32(s.Mask)<<15 | s.Addr/4
	}
	return uint32(s.Count-1)<<15 | s.Addr/4
}

func (p packed) read(head uint32) (Span, bool) {
	s := Span{Addr: head & 0x7fff * 4}
	if head>>31 == 1 {
		s.Mask = uint16(head >> 15)
		s.Count = 1 + bits.OnesCount16(s.Mask)
		return s, s.Mask != 0
	}
	s.Count = int(head>>15&(maxRecord-1)) + 1
	s.Bar = head>>addressBit == 1
	if s.Bar {
		return s, head>>21&3 == 0 && head>>(addressBit-1)&1 == 0
	}
	return s, head>>21 == 0
}

func (p packed) keep(t *Task, spans []Span) []Span {
	for _, s := range spans {
		if s.Addr == p.filling && s.Count == 1 {
			t.Padding++
		}
	}
	if slices.Equal(p.spans(t), spans) {
		return nil
	}
	t.Padding = 0 // it is among the records
	return slices.Clone(spans)
}
