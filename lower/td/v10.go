package td

import "fmt"

// V10 is the codec of version 10: the register image that is loaded, a block after the other with gaps between them.
var V10 = &Codec{
	Version: 10, Name: "ZinAneTdHw_v10", Blocks: append([]*Block{HeaderV10}, Groups...), layout: layoutV10,
}

// The groups of version 10. Words and register base are from table 23.4, the places in the image from the aperture map
// in the guide's appendix C; they put the first word of G1 where listing 23.3 has Win. HeaderV10 is the part of the
// image before its first group.
var (
	HeaderV10 = &Block{
		Name:  "Header",
		Words: 9, Header: true,
		Doc: "the task header: nine words before the first group",
	}
	G0 = &Block{Name: "G0", first: 0x24 / 4, Words: 34, Base: 0x5500, Doc: "kernel and common"}
	G1 = &Block{Name: "G1", first: 0xf4 / 4, Words: 19, Base: 0x0000, Doc: "dimensions"}
	G2 = &Block{Name: "G2", first: 0x148 / 4, Words: 69, Base: 0x4d00, Doc: "tile DMA"}
	G3 = &Block{Name: "G3", first: 0x264 / 4, Words: 30, Base: 0x4100, Doc: "elementwise, planar, padding"}
	G4 = &Block{Name: "G4", first: 0x2e4 / 4, Words: 14, Base: 0x4500, Doc: "L2 and texture"}
	G5 = &Block{Name: "G5", first: 0x324 / 4, Words: 11, Base: 0x4900, Doc: "kernel format and op mode"}
	G6 = &Block{Name: "G6", first: 0x358 / 4, Words: 21, Base: 0x5100, Doc: "L2 result and result DMA"}
)

// Groups are the seven register groups in the order of the image.
var Groups = []*Block{G0, G1, G2, G3, G4, G5, G6}

// structHead is the bytes of the descriptor's struct before its image: by that much the struct bases of table 23.4
// exceed the image bases of appendix C.
const structHead = 8

// Struct returns the byte offset of a group of version 10 in the descriptor's struct.
func (b *Block) Struct() int { return b.Image() + structHead }

// ImageSize is the number of bytes of a version-10 image, up to the end of its last group.
const ImageSize = 0x358 + 4*21

// moves lists where whole words of version 7 are in version 10; the fields of a word keep their bits. Between the words
// that the chapter fixes, the order of version 7 is kept.
var moves = []move{
	{block: Header, from: 0, n: 9, step: 1, to: HeaderV10, at: 0, source: assigned},
	{block: Header, from: 9, n: 2, step: 1, to: G5, at: 5, source: assigned},

	{block: Kernel, from: 0, n: 2, step: 1, to: G0, at: 0, source: assigned},
	{block: Kernel, from: 2, n: 16, step: 1, to: G0, at: 2, source: "listing 23.3: G0 at 0x2c"},
	{block: Kernel, from: 18, n: 16, step: 1, to: G2, at: 37, source: assigned},
	{block: Kernel, from: 34, n: 16, step: 1, to: G2, at: 53, source: assigned},
	{block: Kernel, from: 50, n: 4, step: 4, to: G0, at: 18,
		source: "stream enables 0x5548, 0x5558, 0x5568, 0x5578"},
	{block: Kernel, from: 54, n: 4, step: 4, to: G0, at: 19,
		source: "stream offsets 0x554c, 0x555c, 0x556c, 0x557c"},
	{block: Kernel, from: 58, n: 4, step: 1, to: G2, at: 32, source: assigned},

	{block: Common, from: 0, n: 1, step: 1, to: G1, at: 0, source: "listing 23.3: 0xf4, 0xf6"},
	{block: Common, from: 1, n: 2, step: 1, to: G1, at: 1, source: assigned},
	{block: Common, from: 3, n: 2, step: 1, to: G1, at: 3, source: "listing 23.3: 0x100, 0x104"},
	{block: Common, from: 5, n: 4, step: 1, to: G1, at: 5, source: assigned},
	{block: Common, from: 9, n: 1, step: 1, to: G1, at: 10, source: "listing 23.3: 0x11c"},
	{block: Common, from: 10, n: 3, step: 1, to: G1, at: 11, source: assigned},
	{block: Common, from: 13, n: 1, step: 1, to: G1, at: 14, source: "task type: G1 + 0x38, bits 7:4"},
	{block: Common, from: 14, n: 2, step: 1, to: G1, at: 15, source: assigned},

	{block: TileSrc, from: 0, n: 2, step: 1, to: G2, at: 0, source: assigned},
	{block: TileSrc, from: 2, n: 1, step: 1, to: G2, at: 4, source: "table 23.5: 0x1344"},
	{block: TileSrc, from: 3, n: 4, step: 1, to: G2, at: 6, source: assigned},
	{block: TileSrc, from: 7, n: 1, step: 1, to: G2, at: 10, source: "table 23.5: 0x134a"},
	{block: TileSrc, from: 8, n: 4, step: 1, to: G2, at: 12, source: assigned},
	{block: TileSrc, from: 12, n: 16, step: 1, to: G2, at: 16, source: assigned},

	{block: PE, from: 0, n: 4, step: 1, to: G3, at: 0, source: assigned},

	{block: L2, from: 0, n: 12, step: 1, to: G4, at: 0, source: assigned},
	{block: L2, from: 12, n: 6, step: 1, to: G6, at: 9, source: assigned},

	{block: NE, from: 0, n: 5, step: 1, to: G5, at: 0, source: assigned},

	{block: TileDst, from: 0, n: 1, step: 1, to: G6, at: 0, source: assigned},
	{block: TileDst, from: 1, n: 1, step: 1, to: G6, at: 2, source: "table 23.5: 0x1442"},
	{block: TileDst, from: 2, n: 4, step: 1, to: G6, at: 4, source: assigned},
	{block: TileDst, from: 6, n: 1, step: 1, to: G6, at: 8, source: assigned},
}

// apart lists the fields that leave their word.
var apart = map[Field]Place{
	Kh:          {Block: G1, Word: 7, Bit: 5, Width: 6, Source: assigned}, // of version 11, which has 6 bits
	OCGSize:     {Block: G1, Word: 9, Bit: 0, Source: "listing 23.3: 0x118"},
	PaddingMode: {Block: G3, Word: 4, Bit: 0, Source: "table 23.4: padding mode in G3; word and bit assigned"},
}

// formWord is the word of G1, and formBits are the bits in it, that say which registers the task writes in version 7;
// assigned.
const (
	formWord = 17
	formBits = 3
)

// placeV10 assigns the rows of versions 7 and 11 their places in version 10, including rows of unexplained bits.
func placeV10() {
	placeRows(layoutV10, apart, moves)
	for f := range table {
		if table[f].places[layoutV7].Block == nil && table[f].places[layoutV11].Block == nil {
			continue
		}
		if p := table[f].places[layoutV10]; p.Block == nil || p.Word >= p.Block.Words {
			panic(fmt.Sprintf("lower/td: %s has no place in version 10", table[f].Name))
		}
	}
}

// upperBits is where the image has the upper bits of a field that is wider in a later version than its place.
type upperBits struct {
	field Field
	word  int // of the image
	bit   uint8
	from  uint8 // the lowest one
	mask  uint32
}

// uppers are the upper bits of all fields, in the order of the table.
var uppers []upperBits

// placeLateV10 assigns places to the fields that only later versions have, and to the upper bits of those that are
// wider there: in words of the groups that no other field and no slot has.
func placeLateV10() {
	taken := map[word]bool{{G1, formWord}: true}
	for f := range table {
		if p := table[f].places[layoutV10]; p.Block != nil {
			taken[wordOf(p)] = true
		}
	}
	for i := range slotRows {
		s := &slotRows[i]
		w := int(s.slot.Register()-s.group.Base) / 4
		taken[word{s.group, w}], taken[word{s.group, w + 1}] = true, true // an address has two
	}
	var open []*Place // the rest of each free word
	for _, g := range Groups {
		for w := range g.Words {
			if !taken[word{g, w}] {
				open = append(open, &Place{Block: g, Word: w, Source: assigned})
			}
		}
	}
	take := func(name string, width uint8) Place {
		for _, w := range open {
			if w.Bit+width <= 32 {
				p := *w
				p.Width = width
				w.Bit += width
				return p
			}
		}
		panic(fmt.Sprintf("lower/td: version 10 has no room for %s", name))
	}
	for f := range table {
		r, width := &table[f], uint8(0)
		for _, p := range r.places {
			width = max(width, p.Width)
		}
		switch p := &r.places[layoutV10]; {
		case p.Block == nil:
			*p = take(r.Name, width)
		case p.Width < width:
			u := take(r.Name, width-p.Width)
			uppers = append(uppers, upperBits{field: Field(f), word: u.Offset() / 4, bit: u.Bit, from: p.Width,
				mask: u.mask()})
		}
	}
}

// wordName names a word of the image for an error.
func wordName(off int) string {
	g := V10.block(off / 4)
	switch {
	case g == nil:
		return "a word between the groups"
	case g == HeaderV10:
		return fmt.Sprintf("header word %d", off/4)
	}
	return fmt.Sprintf("%s register 0x%04x", g.Name, g.Base+uint32(off-g.Image()))
}
