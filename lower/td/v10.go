package td

import (
	"fmt"
	"slices"
)

// Group is one register group of the version-10 image.
type Group struct {
	Name  string
	Image int    // byte offset of its first word in the image
	Words int    // 32-bit words
	Base  uint32 // byte address of its first register; the header has none
	Doc   string
}

// The groups of version 10. Words and register base are those of table 23.4. The image bases are eight bytes below its
// struct bases, which puts the first word of G1 where listing 23.3 has Win. HeaderV10 is the part of the image before
// its first group.
var (
	HeaderV10 = &Group{
		Name:  "Header",
		Image: 0x00,
		Words: 9,
		Base:  0,
		Doc:   "the task header: nine words before the first group",
	}
	G0 = &Group{Name: "G0", Image: 0x24, Words: 34, Base: 0x5500, Doc: "kernel and common"}
	G1 = &Group{Name: "G1", Image: 0xf4, Words: 19, Base: 0x0000, Doc: "dimensions"}
	G2 = &Group{Name: "G2", Image: 0x148, Words: 69, Base: 0x4d00, Doc: "tile DMA"}
	G3 = &Group{Name: "G3", Image: 0x264, Words: 30, Base: 0x4100, Doc: "elementwise, planar, padding"}
	G4 = &Group{Name: "G4", Image: 0x2e4, Words: 14, Base: 0x4500, Doc: "L2 and texture"}
	G5 = &Group{Name: "G5", Image: 0x324, Words: 11, Base: 0x4900, Doc: "kernel format and op mode"}
	G6 = &Group{Name: "G6", Image: 0x358, Words: 21, Base: 0x5100, Doc: "L2 result and result DMA"}
)

// Groups are the seven register groups in the order of the image.
var Groups = []*Group{G0, G1, G2, G3, G4, G5, G6}

// ImageSize is the number of bytes of a version-10 image, up to the end of its last group.
const ImageSize = 0x358 + 4*21

// Place is where version 10 has a field: Word of Group, starting at bit Bit, with the width and unit of version 7.
type Place struct {
	Group  *Group
	Word   int
	Bit    uint8
	Source string // where the place is from; assigned means zinc's own choice
}

// Register returns the byte address of the place's register, or false in the header, which has none.
func (p Place) Register() (uint32, bool) {
	return p.Group.Base + 4*uint32(p.Word), p.Group != HeaderV10
}

// Offset returns the byte offset of the place's word in the image.
func (p Place) Offset() int { return p.Group.Image + 4*p.Word }

// assigned is the source of a place that no chapter states.
const assigned = "assigned"

// moves lists where whole words of version 7 are in version 10; the fields of a word keep their bits. Between the words
// that the chapter fixes, the order of version 7 is kept.
var moves = []struct {
	block  *Block
	from   int // first word, of the block
	n      int // words
	step   int // words from one to the next in the group
	group  *Group
	to     int // first word, of the group
	source string
}{
	{block: Header, from: 0, n: 9, step: 1, group: HeaderV10, to: 0, source: assigned},
	{block: Header, from: 9, n: 2, step: 1, group: G5, to: 5, source: assigned},

	{block: Kernel, from: 0, n: 2, step: 1, group: G0, to: 0, source: assigned},
	{block: Kernel, from: 2, n: 16, step: 1, group: G0, to: 2, source: "listing 23.3: G0 at 0x2c"},
	{block: Kernel, from: 18, n: 16, step: 1, group: G2, to: 37, source: assigned},
	{block: Kernel, from: 34, n: 16, step: 1, group: G2, to: 53, source: assigned},
	{block: Kernel, from: 50, n: 4, step: 4, group: G0, to: 18,
		source: "stream enables 0x5548, 0x5558, 0x5568, 0x5578"},
	{block: Kernel, from: 54, n: 4, step: 4, group: G0, to: 19,
		source: "stream offsets 0x554c, 0x555c, 0x556c, 0x557c"},
	{block: Kernel, from: 58, n: 4, step: 1, group: G2, to: 32, source: assigned},

	{block: Common, from: 0, n: 1, step: 1, group: G1, to: 0, source: "listing 23.3: 0xf4, 0xf6"},
	{block: Common, from: 1, n: 2, step: 1, group: G1, to: 1, source: assigned},
	{block: Common, from: 3, n: 2, step: 1, group: G1, to: 3, source: "listing 23.3: 0x100, 0x104"},
	{block: Common, from: 5, n: 4, step: 1, group: G1, to: 5, source: assigned},
	{block: Common, from: 9, n: 1, step: 1, group: G1, to: 10, source: "listing 23.3: 0x11c"},
	{block: Common, from: 10, n: 3, step: 1, group: G1, to: 11, source: assigned},
	{block: Common, from: 13, n: 1, step: 1, group: G1, to: 14, source: "task type: G1 + 0x38, bits 7:4"},
	{block: Common, from: 14, n: 2, step: 1, group: G1, to: 15, source: assigned},

	{block: TileSrc, from: 0, n: 2, step: 1, group: G2, to: 0, source: assigned},
	{block: TileSrc, from: 2, n: 1, step: 1, group: G2, to: 4, source: "table 23.5: 0x1344"},
	{block: TileSrc, from: 3, n: 4, step: 1, group: G2, to: 6, source: assigned},
	{block: TileSrc, from: 7, n: 1, step: 1, group: G2, to: 10, source: "table 23.5: 0x134a"},
	{block: TileSrc, from: 8, n: 4, step: 1, group: G2, to: 12, source: assigned},
	{block: TileSrc, from: 12, n: 16, step: 1, group: G2, to: 16, source: assigned},

	{block: PE, from: 0, n: 4, step: 1, group: G3, to: 0, source: assigned},

	{block: L2, from: 0, n: 12, step: 1, group: G4, to: 0, source: assigned},
	{block: L2, from: 12, n: 6, step: 1, group: G6, to: 9, source: assigned},

	{block: NE, from: 0, n: 5, step: 1, group: G5, to: 0, source: assigned},

	{block: TileDst, from: 0, n: 1, step: 1, group: G6, to: 0, source: assigned},
	{block: TileDst, from: 1, n: 1, step: 1, group: G6, to: 2, source: "table 23.5: 0x1442"},
	{block: TileDst, from: 2, n: 4, step: 1, group: G6, to: 4, source: assigned},
	{block: TileDst, from: 6, n: 1, step: 1, group: G6, to: 8, source: assigned},
}

// apart lists the fields that leave their word.
var apart = map[Field]Place{
	OCGSize:     {Group: G1, Word: 9, Bit: 0, Source: "listing 23.3: 0x118"},
	PaddingMode: {Group: G3, Word: 4, Bit: 0, Source: "table 23.4: padding mode in G3; word and bit assigned"},
}

// formWord is the word of G1, and formBits are the bits in it, that say which registers the task writes in version 7;
// assigned.
const (
	formWord = 17
	formBits = 3
)

// v10words lists the fields in every word of the image that has any, and the bits that they cover, in the order of the
// image.
var v10words []v10word

type v10word struct {
	off    int // byte offset in the image
	fields []Field
	mask   uint32
	parts  []v10part // the fields, in as few pieces as contain them
}

// v10part is the bits of some fields that version 10 keeps together: bits of one word of a task, from its bit from in
// the task and from bit to in the image.
type v10part struct {
	word     uint16 // of Task.reg
	from, to uint8
	mask     uint32 // of the bits, from bit 0
}

// parts returns the pieces that fields of one word of the image consist of.
func parts(fields []Field) (l []v10part) {
	for _, f := range fields {
		p, r := &places[f], &table[f]
		x := v10part{word: p.word, from: p.bit, to: r.V10.Bit, mask: p.mask}
		if p.bit == r.V10.Bit {
			x.from, x.to, x.mask = 0, 0, p.mask<<p.bit // joins others that keep their bits
		}
		i := slices.IndexFunc(l, func(o v10part) bool { return o.word == x.word && o.from == x.from && o.to == x.to })
		if i < 0 {
			l = append(l, x)
			continue
		}
		l[i].mask |= x.mask
	}
	return l
}

// placeV10 assigns every row its place in version 10, including the rows of unexplained bits.
func placeV10() {
	byOff := map[int]*v10word{}
	put := func(f Field, p Place) {
		r := &table[f]
		mask := uint32(1<<r.Width-1) << p.Bit
		w := byOff[p.Offset()]
		if w == nil {
			w = &v10word{off: p.Offset()}
			byOff[w.off] = w
		}
		if r.V10.Group != nil || w.mask&mask != 0 || p.Word >= p.Group.Words || int(p.Bit)+int(r.Width) > 32 {
			panic("lower/td: the version-10 place of " + r.Name + " overlaps another or leaves its group")
		}
		r.V10 = p
		w.mask |= mask
		w.fields = append(w.fields, f)
	}
	for f, p := range apart {
		put(f, p)
	}
	for _, m := range moves {
		for i := range m.n {
			for _, f := range words[m.block][m.from+i] {
				if _, ok := apart[f]; !ok {
					put(f, Place{Group: m.group, Word: m.to + i*m.step, Bit: table[f].Bit, Source: m.source})
				}
			}
		}
	}
	for f := range table {
		if table[f].V10.Group == nil {
			panic(fmt.Sprintf("lower/td: %s has no place in version 10", table[f].Name))
		}
	}
	for off := 0; off < ImageSize; off += 4 {
		if w := byOff[off]; w != nil {
			w.parts = parts(w.fields)
			v10words = append(v10words, *w)
		}
	}
}

// groupAt returns the group that contains a byte of the image, or nil.
func groupAt(off int) *Group {
	for _, g := range append([]*Group{HeaderV10}, Groups...) {
		if off >= g.Image && off < g.Image+4*g.Words {
			return g
		}
	}
	return nil
}

// wordName names a word of the image for an error.
func wordName(off int) string {
	g := groupAt(off)
	switch {
	case g == nil:
		return "a word between the groups"
	case g == HeaderV10:
		return fmt.Sprintf("header word %d", off/4)
	}
	return fmt.Sprintf("%s register 0x%04x", g.Name, g.Base+uint32(off-g.Image))
}
