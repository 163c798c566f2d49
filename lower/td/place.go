package td

import (
	"fmt"
	"slices"
	"strconv"
)

// Block is a run of consecutive words of one version of the descriptor: the header of a task, or a register block.
type Block struct {
	Name  string
	Base  uint32 // byte address of the first register; a header has none
	Words int
	Doc   string
	// Header is set if the words do not belong to registers.
	Header bool
	first  int // index of its first word among all words of the version
}

// Image returns the byte offset of the block in the image of a version that has one.
func (b *Block) Image() int { return 4 * b.first }

// Place is where a version of the descriptor has a field: Width bits of a word of a block, from bit Bit on.
type Place struct {
	Block      *Block // nil if the version does not have the field
	Word       int    // of the block
	Bit, Width uint8
	Source     string // where the place is from, unless records show it; assigned means zinc's own choice
}

// Register returns the byte address of the place's register, or false in a header, which has none.
func (p Place) Register() (uint32, bool) { return p.Addr(), !p.Block.Header }

// Addr returns the byte address of the place's register; in a header, the byte offset of the word.
func (p Place) Addr() uint32 { return p.Block.Base + 4*uint32(p.Word) }

// InHead reports whether the place is in the head of a record with an address.
func (p Place) InHead() bool {
	return slices.ContainsFunc(Codecs, func(c *Codec) bool { return p.Block != nil && c.Heads == p.Block })
}

// Offset returns the byte offset of the place's word in the image of a version that has one.
func (p Place) Offset() int { return p.Block.Image() + 4*p.Word }

// mask returns the largest value that the place holds.
func (p Place) mask() uint32 { return 1<<p.Width - 1 }

// Bits returns the bits of the word, high to low: "14:0", or "5".
func (p Place) Bits() string {
	if p.Width == 1 {
		return strconv.Itoa(int(p.Bit))
	}
	return fmt.Sprintf("%d:%d", p.Bit+p.Width-1, p.Bit)
}

// move is a place of whole words of version 7 in another version; the fields of a word keep their bits.
type move struct {
	block  *Block
	from   int // first word, of the block
	n      int // words
	step   int // words from one to the next
	to     *Block
	at     int // first word, of the block
	source string
}

// placeRows assigns the rows with a place in version 7 their places in another version: the places in apart, then in
// the words that moves has. A row that neither has gets none.
func placeRows(layout int, apart map[Field]Place, moves []move) {
	for f := range table {
		r := &table[f]
		from := r.places[layoutV7]
		p, ok := apart[Field(f)]
		for i := 0; !ok && i < len(moves) && from.Block != nil; i++ {
			if m := &moves[i]; m.block == from.Block && from.Word >= m.from && from.Word < m.from+m.n {
				word := m.at + (from.Word-m.from)*m.step
				p, ok = Place{Block: m.to, Word: word, Bit: from.Bit, Source: m.source}, true
			}
		}
		if !ok || p.Block == nil {
			continue
		}
		if p.Width == 0 {
			p.Width = from.Width
		}
		r.places[layout] = p
	}
}

// String returns the place as the text form writes it: block, byte offset of the word in the block, and lowest bit, as
// in G1+0x28.0.
func (p Place) String() string { return fmt.Sprintf("%s+0x%02x.%d", p.Block.Name, 4*p.Word, p.Bit) }

// assigned is the source of a place that no chapter states.
const assigned = "assigned"

// source returns where the place is from, with "assigned" spelled out.
func (p Place) source() string {
	if p.Source == assigned {
		return "assigned by zinc"
	}
	return p.Source
}

// The layouts of descriptor versions: indices of Row.places.
const (
	layoutV7 = iota
	layoutV10
	layoutV11
	layoutV8
	layoutV17
	layoutV19
	layoutV20
	layoutV24
	layouts
)
