package translation

import "fmt"

// Sizes and limits of the unit.
const (
	PageShift    = 14             // a page is 16 KiB
	PageSize     = 1 << PageShift // bytes
	ApertureSize = 0xE000_0000    // bytes a client can address: 3.5 GiB
	TableEntries = PageSize / 8   // words in a table of one page
	TableSpan    = TableEntries * PageSize
	RootEntries  = ApertureSize / TableSpan // 112 leaf tables cover the aperture
	DMAAlign     = 64                       // a base register's address is a multiple of this
	LeafValid    = Leaf(1) << 63
	DefaultSlots = 16 // streams of the unit, modelled
)

// Leaf is one word of a leaf table: the physical frame's number with bit 63
// set, or 0 for a page that is not mapped.
type Leaf uint64

// Valid reports whether the page is mapped.
func (l Leaf) Valid() bool { return l&LeafValid != 0 }

// Frame returns the physical frame's number.
func (l Leaf) Frame() uint64 { return uint64(l &^ LeafValid) }

// Access is the direction of an access to an address.
type Access uint8

// The two directions of a transfer.
const (
	Read Access = 1 << iota
	Write
)

func (a Access) String() string {
	switch a {
	case Read:
		return "read"
	case Write:
		return "write"
	case Read | Write:
		return "read and write"
	}
	return fmt.Sprintf("access %d", uint8(a))
}

// Usage is the code for the contents of a mapped segment.
type Usage uint32

// The usage codes of a loaded program.
const (
	Input        Usage = 1
	Output       Usage = 2
	Intermediate Usage = 7
	Weights      Usage = 8
	Text         Usage = 9
	Constants    Usage = 11
)

// UsageRow is one line of Usages.
type UsageRow struct {
	Code  Usage
	Name  string
	Allow Access // what the engine may do
}

// Usages lists the usage codes. Codes and names are from the public decoding. The directions of input, weights and
// output are the segment protections of chapter 23 (table 23.6); the other directions are modelled.
var Usages = []UsageRow{
	{Input, "input", Read},
	{Output, "output", Write}, // a buffer that the next call reads is mapped as its input as well
	{Intermediate, "intermediate", Read | Write},
	{Weights, "weights", Read},
	{Text, "text", Read},
	{Constants, "constants", Read},
}

func (u Usage) row() (UsageRow, bool) {
	for _, r := range Usages {
		if r.Code == u {
			return r, true
		}
	}
	return UsageRow{}, false
}

func (u Usage) String() string {
	if r, ok := u.row(); ok {
		return r.Name
	}
	return fmt.Sprintf("usage %d", uint32(u))
}

// pageTable is a client's two-level table. Leaf tables are allocated when a page in them is first mapped.
type pageTable struct {
	root [RootEntries]*leafTable
}

type leafTable struct {
	leaf [TableEntries]Leaf
	used int
}

// split cuts a device address below ApertureSize into its indices.
func split(addr uint64) (root, leaf int, off uint64) {
	return int(addr / TableSpan), int(addr / PageSize % TableEntries), addr % PageSize
}

func (t *pageTable) walk(addr uint64) Leaf {
	if addr >= ApertureSize {
		return 0
	}
	r, l, _ := split(addr)
	if t.root[r] == nil {
		return 0
	}
	return t.root[r].leaf[l]
}

func (t *pageTable) set(addr, frame uint64) {
	r, l, _ := split(addr)
	if t.root[r] == nil {
		t.root[r] = new(leafTable)
	}
	if !t.root[r].leaf[l].Valid() {
		t.root[r].used++
	}
	t.root[r].leaf[l] = Leaf(frame) | LeafValid
}

func (t *pageTable) clear(addr uint64) {
	r, l, _ := split(addr)
	lt := t.root[r]
	if lt == nil || !lt.leaf[l].Valid() {
		return
	}
	lt.leaf[l] = 0
	if lt.used--; lt.used == 0 {
		t.root[r] = nil
	}
}
