package td

import (
	"fmt"
	"slices"
	"strings"
)

// A Codec reads and writes tasks in one version of the descriptor. It knows where the version has the fields, and how
// it puts words together.
type Codec struct {
	Version int
	Name    string   // of the descriptor, as chapter 23 writes it
	Blocks  []*Block // the header, then the register blocks in the order of a task
	// Align, Page and Lead, in bytes, apply to a task section: a task begins at a multiple of Align and is not on two
	// pages, and Lead zero bytes precede the first one of a chain. They are 0 for a version without one.
	Align, Page, Lead int
	// Linked is set if a task names the next one of its chain. Otherwise it states its own size, and the next one
	// follows at the next multiple of Align.
	Linked bool
	// Older is set for tasks as the compilers wrote them that wrote every record whole.
	Older bool
	// TableApart is set if a lookup table that a task does not multiply with comes in a stream of its own, instead of
	// in every lane; WideMasks if masks of zero-skipping coefficients have 16 bits, instead of 8.
	TableApart, WideMasks bool
	// FirstPort is the buffer-access register of a procedure's first port.
	FirstPort int
	// KernelsLast is set if coefficients and lookup tables have a buffer-access register of their own, after the
	// registers of the ports.
	KernelsLast bool
	// OutputsFirst is set if the registers of outputs come before those of inputs.
	OutputsFirst bool
	// Heads stands for the heads of records that contain a buffer-access register; nil if none do.
	Heads *Block

	header    int        // least number of header words, 0 for a version without records
	form      recordForm // nil for a version without records
	addresses []addressRecord
	filling   uint32 // register that fills a task, 0 for none
	layout    int    // index of Row.places
	words     int    // of a whole task
	// By word: the value that a task does not write, nil if it writes every word or they are zero; the bits of fields;
	// whether every task writes the word, and whether it is an address.
	defaults, bits  []uint32
	kept, addressed []bool
	fillerWord      int

	// derive sets, in a task that was read, the fields that the version does not have and that others imply. They may
	// have any value in a task that is written.
	derive  func(t *Task)
	derived []Field
	// implied are fields that the version does not have and that have one value in every task.
	implied []implied

	placed []placed  // every field that the version has, in the order of words
	fields [][]Field // by word
	absent []Field   // that the version does not have
}

// implied is the value that a field without a place has.
type implied struct {
	field Field
	value uint32
}

// placed is the place of a field among the words of a version.
type placed struct {
	field Field
	word  uint16
	bit   uint8
	mask  uint32 // of the value, from bit 0
}

// Codecs are the versions that zinc reads and writes.
var Codecs = []*Codec{V7, V10, V11, V8, V17, V19, V20, V24}

// CodecOf returns the codec of a version; the error for an unknown version names it.
func CodecOf(version int) (*Codec, error) {
	var known []string
	for _, c := range Codecs {
		if c.Version == version {
			return c, nil
		}
		known = append(known, fmt.Sprintf("%d (%s)", c.Version, c.Name))
	}
	last := len(known) - 1
	return nil, fmt.Errorf("task descriptor version %d (ZinAneTdHw_v%d) is not known: known are %s and %s", version,
		version, strings.Join(known[:last], ", "), known[last])
}

// CodecFor is CodecOf for a version that a container states, or the error with which it states none.
func CodecFor(version int, err error) (*Codec, error) {
	if err != nil {
		return nil, err
	}
	return CodecOf(version)
}

// number sets where the blocks begin, one after the other.
func (c *Codec) number() {
	for _, b := range c.allBlocks() {
		b.first = c.words
		c.words += b.Words
	}
}

// allBlocks returns the blocks, and the one that stands for the heads of records.
func (c *Codec) allBlocks() []*Block {
	if c.Heads == nil {
		return c.Blocks
	}
	return append(slices.Clip(c.Blocks), c.Heads)
}

// lay completes a codec whose rows have the places.
func (c *Codec) lay() {
	for _, b := range c.allBlocks() {
		c.words = max(c.words, b.first+b.Words)
	}
	c.fields, c.bits = make([][]Field, c.words), make([]uint32, c.words)
	c.placed = make([]placed, 0, len(table))
	in := make([]int, c.words) // fields of each word
	for f := range table {
		if p := table[f].Place(c); p.Block != nil {
			in[p.Block.first+p.Word]++
		}
	}
	all := make([]Field, len(table))
	for w, n := range in {
		c.fields[w], all = all[:0:n], all[n:]
	}
	for f := range table {
		if p := table[f].Place(c); p.Block == nil {
			if !slices.Contains(c.derived, Field(f)) && c.impliedValue(Field(f)) == 0 {
				c.absent = append(c.absent, Field(f))
			}
		} else {
			w := p.Block.first + p.Word
			c.fields[w] = append(c.fields[w], Field(f))
		}
	}
	for w, fields := range c.fields {
		used := uint32(0)
		for _, f := range fields {
			p := table[f].Place(c)
			mask := p.mask() << p.Bit
			if used&mask != 0 || int(p.Bit)+int(p.Width) > 32 {
				panic(fmt.Sprintf("lower/td: the place of %s in version %d overlaps another", f, c.Version))
			}
			used |= mask
			c.placed = append(c.placed, placed{field: f, word: uint16(w), bit: p.Bit, mask: p.mask()})
		}
		c.bits[w] = used
	}
}

// setDefaults sets the values of registers that a task does not write, and the registers that every task writes.
func (c *Codec) setDefaults(values map[uint32]uint32, always []uint32) {
	c.defaults, c.kept, c.addressed = make([]uint32, c.words), make([]bool, c.words), make([]bool, c.words)
	word := func(addr uint32) int { return c.blockOf(Span{Addr: addr, Count: 1}).wordAt(addr) }
	for addr, v := range values {
		c.defaults[word(addr)] = v
	}
	for _, addr := range always {
		c.kept[word(addr)] = true
	}
	for _, a := range c.addresses {
		for i := range a.words {
			c.addressed[word(a.addr)+i] = true
		}
	}
	if c.fillerWord = -1; c.filling != 0 {
		c.fillerWord = word(c.filling)
	}
}

// filler reports whether a register only fills a task.
func (c *Codec) filler(addr uint32) bool { return c.filling != 0 && addr == c.filling }

// KernelBar returns the buffer-access register of coefficients and lookup tables in a procedure with a number of ports.
func (c *Codec) KernelBar(ports int) int {
	if c.KernelsLast {
		return c.FirstPort + ports
	}
	return BarConstants
}

// ConstantKernel reports whether the coefficients or the lookup table of a task are constants, instead of tensors.
func (c *Codec) ConstantKernel(t *Task) bool {
	bar := t.Int(KBase0)
	return t.On(KBE0) && (bar == BarConstants || c.KernelsLast && bar >= c.FirstPort)
}

// Relocated reports whether tasks have the addresses of their coefficients for the container to relocate. Otherwise
// they name a buffer-access register with each address.
func (c *Codec) Relocated() bool { return c.Heads == nil }

// Has reports whether the version has a field.
func (c *Codec) Has(f Field) bool { return table[f].Place(c).Block != nil }

// block returns the block of a word, or nil.
func (c *Codec) block(word int) *Block {
	i := slices.IndexFunc(c.Blocks, func(b *Block) bool { return word >= b.first && word < b.first+b.Words })
	if i < 0 {
		return nil
	}
	return c.Blocks[i]
}

// Fits returns an error for the first value of a task that does not fit the version.
func (c *Codec) Fits(t *Task) error {
	if t.err != nil {
		return t.err
	}
	for i := range c.placed {
		if p := &c.placed[i]; t.val[p.field]&^p.mask != 0 {
			unit := uint64(units[p.field])
			return fmt.Errorf("%s = %d: the field holds 0..%d", p.field, uint64(t.val[p.field])*unit,
				uint64(p.mask)*unit)
		}
	}
	for _, f := range c.absent {
		if t.val[f] != 0 {
			return c.noPlace(t, f)
		}
	}
	for _, x := range c.implied {
		if v := t.val[x.field]; v != 0 && v != x.value {
			return c.noPlace(t, x.field)
		}
	}
	return nil
}

func (c *Codec) noPlace(t *Task, f Field) error {
	return fmt.Errorf("%s = %d: descriptor version %d has no place for the field", f, t.Get(f), c.Version)
}

// impliedValue returns the value that a field without a place has in every task.
func (c *Codec) impliedValue(f Field) uint32 {
	for _, x := range c.implied {
		if x.field == f {
			return x.value
		}
	}
	return 0
}

// pack sets the words of a task, which are zero, to its values.
func (c *Codec) pack(ws []uint32, t *Task) error {
	if err := c.Fits(t); err != nil {
		return err
	}
	for i := range c.placed {
		p := &c.placed[i]
		ws[p.word] |= t.val[p.field] << p.bit
	}
	return nil
}

// unpack sets the values of a task to the values in its words.
func (c *Codec) unpack(t *Task, ws []uint32) {
	for i := range c.placed {
		p := &c.placed[i]
		t.val[p.field] = ws[p.word] >> p.bit & p.mask
	}
	for _, x := range c.implied {
		t.val[x.field] = x.value
	}
	if c.derive != nil {
		c.derive(t)
	}
}

// word returns a word of a task whose values all fit.
func (c *Codec) word(t *Task, word int) (w uint32) {
	for _, f := range c.fields[word] {
		w |= t.val[f] << table[f].Place(c).Bit
	}
	return w
}

// setWord sets the values of a word's fields.
func (c *Codec) setWord(t *Task, word int, w uint32) {
	for _, f := range c.fields[word] {
		p := table[f].Place(c)
		t.val[f] = w >> p.Bit & p.mask()
	}
}
