package td

// V11 is the codec of version 11, which h14 containers have: a task section begins with 16 zero bytes and has one task
// after the other on 16-byte bounds. A task is a header of eight or nine words, then packed records: of each block the
// words that differ from their defaults, in as few records as possible, then a record for each address, whose head has
// the buffer-access register (325 recorded tasks).
var V11 = &Codec{
	Version: 11, Name: "ZinAneTd<11>",
	Blocks: []*Block{HeaderV11, KernelV11, CommonV11, TileSrcV11, L2V11, PEV11, NEV11, TileDstV11},
	Align:  0x10, Lead: 0x10, layout: layoutV11, header: 8, Heads: HeadsV11,
	addresses: []addressRecord{
		{addr: 0x1908, words: 2, head: headKernel, on: lanesOn},
		{addr: 0x1a00, words: 2, head: headKernel, on: tableOn},
		{addr: 0x19f4, words: 1, head: headKernel, on: tableOn},
		{addr: 0x1110, words: 2, head: headSource1},
		{addr: 0x1128, words: 2, head: headSource2},
		{addr: 0x1508, words: 2, head: headResult},
	},
	filling: 0x1524, TableApart: true, WideMasks: true, FirstPort: V7.FirstPort,
}

// Blocks of version 11, in the order of every recorded task. HeadsV11 stands for the heads of the records with
// addresses.
var (
	HeaderV11 = &Block{Name: "Header", Words: 9, Header: true,
		Doc: "task header of eight words, and a ninth if TSR and TDE are set"}
	KernelV11 = &Block{Name: "KernelDMA", Base: 0x1900, Words: 70,
		Doc: "kernel DMA: sixteen coefficient lanes and four streams"}
	CommonV11  = &Block{Name: "Common", Base: 0x0000, Words: 19, Doc: "dimensions, convolution geometry, tiling"}
	TileSrcV11 = &Block{Name: "TileDMASrc", Base: 0x1100, Words: 53, Doc: "tile DMA, two sources"}
	L2V11      = &Block{Name: "L2", Base: 0x0500, Words: 25, Doc: "L2 source, second source, result"}
	PEV11      = &Block{Name: "PE", Base: 0x0900, Words: 5, Doc: "planar engine"}
	NEV11      = &Block{Name: "NE", Base: 0x0d00, Words: 5, Doc: "neural engine"}
	TileDstV11 = &Block{Name: "TileDMADst", Base: 0x1500, Words: 10, Doc: "tile DMA destination"}
	HeadsV11   = &Block{Name: "Address", Words: 4, Header: true,
		Doc: "heads of the records with the addresses of kernel, source 1, source 2 and result"}
)

// Words of HeadsV11, and the bits of a head with an address.
const (
	headKernel = iota
	headSource1
	headSource2
	headResult

	barBit     = 23
	barMask    = 0x1f
	addressBit = 29
)

// addressRecord is a record with an address, whose head is the head of a word of Codec.Heads.
type addressRecord struct {
	addr  uint32 // of its first register
	words int
	head  int
	on    func(t *Task) bool // reports whether a task that names the buffer has the record; nil is always
}

// tableOn reports whether the task streams its lookup table apart from the lanes.
func tableOn(t *Task) bool { return t.val[StreamConfig.At(TableStream)]&1 == 1 }

func lanesOn(t *Task) bool { return !tableOn(t) }

// defaultsV11 are the registers' values that a task does not write; the others are zero. alwaysV11 are registers that
// every task writes.
var (
	defaultsV11 = withIdleKernel(map[uint32]uint32{
		0x0000: 0x01000100, 0x0014: 0x01000100, // 256 columns and rows (softmax of rows of 256x256)
		0x0004: 1, 0x0008: 0x2a, 0x000c: 16, 0x0010: 16, 0x0018: 1, 0x001c: 3, 0x0020: 0x5000a041, 0x0024: Word20Value,
		0x0028: 0x10001, 0x0038: 1,
		0x0504: 0x100, 0x0530: 0x100,
		0x0904: 0x3c000000, 0x0908: 0x3c000000, 0x090c: 0x3f800000,
		0x0d00: 0x82,
	})
	alwaysV11 = []uint32{0x002c, 0x003c}
)

// IdleStreamV11 is the configuration of a lane or a stream that is off, in version 11.
const IdleStreamV11 = 0x20

// withIdleKernel adds the lanes and streams of the kernel DMA to defaults.
func withIdleKernel(defaults map[uint32]uint32) map[uint32]uint32 {
	for i := range uint32(Lanes) {
		defaults[0x1918+4*i], defaults[0x1998+4*i] = IdleStreamV11, IdleSize
	}
	for i := range uint32(KernelStreams) {
		defaults[0x19d8+4*i], defaults[0x1a08+4*i] = IdleStreamV11, IdleSize
	}
	return defaults
}
