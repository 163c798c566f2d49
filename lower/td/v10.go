package td

import "fmt"

// Group is one register group of the version-10 image.
type Group struct {
	Name  string
	Image int    // byte offset of its first word in the image
	Words int    // 32-bit words
	Base  uint32 // byte address of its first register; the header has none
	Doc   string
}

// The groups of version 10: words and register base are those of table 23.4; the
// image bases lie eight bytes below its struct bases, which puts the first word
// of G1 where listing 23.3 has Win.
// HeaderV10 is what the image holds before its first group.
var (
	HeaderV10 = &Group{"Header", 0x00, 9, 0, "the task header: nine words before the first group"}
	G0        = &Group{"G0", 0x24, 34, 0x5500, "kernel and common"}
	G1        = &Group{"G1", 0xf4, 19, 0x0000, "dimensions"}
	G2        = &Group{"G2", 0x148, 69, 0x4d00, "tile DMA"}
	G3        = &Group{"G3", 0x264, 30, 0x4100, "elementwise, planar, padding"}
	G4        = &Group{"G4", 0x2e4, 14, 0x4500, "L2 and texture"}
	G5        = &Group{"G5", 0x324, 11, 0x4900, "kernel format and op mode"}
	G6        = &Group{"G6", 0x358, 21, 0x5100, "L2 result and result DMA"}
)

// Groups are the seven register groups in the order of the image.
var Groups = []*Group{G0, G1, G2, G3, G4, G5, G6}

// ImageSize is the bytes of a version-10 image: to the end of its last group.
const ImageSize = 0x358 + 4*21

// Place is where version 10 has a field: Word of Group, from bit Bit on, as
// wide as in version 7 and in the same unit.
type Place struct {
	Group  *Group
	Word   int
	Bit    uint8
	Source string // where the place is from; assigned: zinc's own choice
}

// Register returns the byte address of the place's register, or false in the
// header, which has none.
func (p Place) Register() (uint32, bool) {
	return p.Group.Base + 4*uint32(p.Word), p.Group != HeaderV10
}

// Offset returns the byte offset of the place's word in the image.
func (p Place) Offset() int { return p.Group.Image + 4*p.Word }

// assigned is the source of a place that no chapter gives.
const assigned = "assigned"

// moves says where whole words of version 7 stand in version 10: the fields
// of a word keep their bits. Between the words that the chapter fixes, the
// order of version 7 is kept.
var moves = []struct {
	block  *Block
	from   int // first word, of the block
	n      int // words
	step   int // words from one to the next in the group
	group  *Group
	to     int // first word, of the group
	source string
}{
	{Header, 0, 9, 1, HeaderV10, 0, assigned},
	{Header, 9, 2, 1, G5, 5, assigned},

	{Kernel, 0, 2, 1, G0, 0, assigned},
	{Kernel, 2, 16, 1, G0, 2, "listing 23.3: G0 at 0x2c"},
	{Kernel, 18, 16, 1, G2, 37, assigned},
	{Kernel, 34, 16, 1, G2, 53, assigned},
	{Kernel, 50, 4, 4, G0, 18, "stream enables 0x5548, 0x5558, 0x5568, 0x5578"},
	{Kernel, 54, 4, 4, G0, 19, "stream offsets 0x554c, 0x555c, 0x556c, 0x557c"},
	{Kernel, 58, 4, 1, G2, 32, assigned},

	{Common, 0, 1, 1, G1, 0, "listing 23.3: 0xf4, 0xf6"},
	{Common, 1, 2, 1, G1, 1, assigned},
	{Common, 3, 2, 1, G1, 3, "listing 23.3: 0x100, 0x104"},
	{Common, 5, 4, 1, G1, 5, assigned},
	{Common, 9, 1, 1, G1, 10, "listing 23.3: 0x11c"},
	{Common, 10, 3, 1, G1, 11, assigned},
	{Common, 13, 1, 1, G1, 14, "task type: G1 + 0x38, bits 7:4"},
	{Common, 14, 2, 1, G1, 15, assigned},

	{TileSrc, 0, 2, 1, G2, 0, assigned},
	{TileSrc, 2, 1, 1, G2, 4, "table 23.5: 0x1344"},
	{TileSrc, 3, 4, 1, G2, 6, assigned},
	{TileSrc, 7, 1, 1, G2, 10, "table 23.5: 0x134a"},
	{TileSrc, 8, 4, 1, G2, 12, assigned},
	{TileSrc, 12, 16, 1, G2, 16, assigned},

	{PE, 0, 4, 1, G3, 0, assigned},

	{L2, 0, 12, 1, G4, 0, assigned},
	{L2, 12, 6, 1, G6, 9, assigned},

	{NE, 0, 5, 1, G5, 0, assigned},

	{TileDst, 0, 1, 1, G6, 0, assigned},
	{TileDst, 1, 1, 1, G6, 2, "table 23.5: 0x1442"},
	{TileDst, 2, 4, 1, G6, 4, assigned},
	{TileDst, 6, 1, 1, G6, 8, assigned},
}

// apart are the fields that leave their word.
var apart = map[Field]Place{
	OCGSize:     {G1, 9, 0, "listing 23.3: 0x118"},
	PaddingMode: {G3, 4, 0, "table 23.4: padding mode in G3; word and bit assigned"},
}

// formWord is the word of G1, and formBits the bits of it, that say which
// registers the task writes in version 7; assigned.
const (
	formWord = 17
	formBits = 3
)

// v10words lists the fields in every word of the image that has some, and the
// bits that they cover, in the order of the image.
var v10words []v10word

type v10word struct {
	off    int // byte offset in the image
	fields []Field
	mask   uint32
}

// init gives every row its place in version 10. The file's name sorts behind
// fields.go, whose init adds the rows of unexplained bits.
func init() {
	if len(words) == 0 {
		panic("lower/td: the field table is not complete yet")
	}
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
					put(f, Place{m.group, m.to + i*m.step, table[f].Bit, m.source})
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
			v10words = append(v10words, *w)
		}
	}
}

// groupAt returns the group that holds a byte of the image, or nil.
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
