package td

import "math"

// V8, V17, V19 and V20 are the codecs of the versions that h15, h16, h17 and h18 have. Their sections are like version
// 11's, but no record fills a task. Recorded are elementwise operations, activations and products with constant weights
// (75 programs). A register that none of them writes has no fields.
var (
	V8 = late(lateForm{
		version: 8, layout: layoutV8, header: 8, common: 19, source: 53, l2: 25, pe: 15, ne: 5, result: 15, kernel: 72,
		cache: 12, result0: 13, table: 68,
	})
	V17 = late(lateForm{
		version: 17, layout: layoutV17, header: 9, common: 23, source: 81, l2: 41, pe: 15, ne: 12, result: 21,
		kernel: 72, cache: 12, apart: true, result0: 18, table: 68,
	})
	V19 = late(lateForm{
		version: 19, layout: layoutV19, header: 9, common: 23, source: 83, l2: 42, pe: 16, ne: 13, result: 23,
		kernel: 74, cache: 14, apart: true, result0: 18, table: 68, network: 21, twice: true,
	})
	V20 = late(lateForm{
		version: 20, layout: layoutV20, header: 9, common: 23, source: 81, l2: 43, pe: 16, ne: 13, result: 27,
		kernel: 83, cache: 14, apart: true, result0: 18, table: 75, network: 21, tags: true,
	})
	// V24 is of h18g and h19. Recorded are the first tasks of two chains of convolutions.
	V24 = late(lateForm{
		version: 24, layout: layoutV24, header: 9, common: 23, source: 81, l2: 43, pe: 16, ne: 14, result: 27,
		kernel: 83, cache: 14, apart: true, result0: 18, table: 75, network: 21, tags: true, wider: true,
	})
)

// lateForms are the forms of the codecs above.
var lateForms []*lateForm

// lateForm is what distinguishes the versions after 11.
type lateForm struct {
	version, layout, header int
	// Words of the blocks.
	common, source, l2, pe, ne, result, kernel, cache int

	apart   bool // each extent has a word of its own, and words of L2 for an index come before its addresses
	result0 int  // word of L2 with the configuration of the result
	table   int  // word of the kernel DMA with the configuration of the lookup table
	network int  // lowest bit of TaskNID, 0 for version 7's
	twice   bool // the record with the address of source 2 comes twice
	wider   bool // the neural engine has one more word, its second
	tags    bool // the words with the tags of the system cache are apart from the configurations

	codec *Codec
	// Blocks, in the order of the tasks, and Heads.
	Header, Kernel, Common, Source, L2, PE, NE, Result, Cache, Heads *Block
}

// laterPort is the register of the first port of every recorded program of h15 to h18.
const laterPort = 6

// Words of Heads after the words of version 11: the tags of the system cache.
const (
	headTag1 = headResult + 1 + iota
	headTag2
	headTagResult
	heads
)

// late returns the codec of a form; placeLate completes it.
func late(f lateForm) *Codec {
	f.Header = &Block{Name: "Header", Words: f.header + 1, Header: true,
		Doc: "task header, with one more word if TSR and TDE are set"}
	f.Kernel = &Block{Name: "KernelDMA", Base: 0x5500, Words: f.kernel,
		Doc: "kernel DMA: sixteen coefficient lanes and a lookup table"}
	f.Common = &Block{Name: "Common", Base: 0x0000, Words: f.common, Doc: "dimensions, convolution geometry, tiling"}
	f.Source = &Block{Name: "TileDMASrc", Base: 0x4d00, Words: f.source, Doc: "tile DMA, two sources"}
	f.L2 = &Block{Name: "L2", Base: 0x4100, Words: f.l2, Doc: "L2 source, second source, result"}
	f.PE = &Block{Name: "PE", Base: 0x4500, Words: f.pe, Doc: "planar engine"}
	f.NE = &Block{Name: "NE", Base: 0x4900, Words: f.ne, Doc: "neural engine"}
	f.Result = &Block{Name: "TileDMADst", Base: 0x5100, Words: f.result, Doc: "tile DMA destination"}
	f.Cache = &Block{Name: "CacheDMA", Base: 0x5900, Words: f.cache, Doc: "cache DMA, of a chain's last task"}
	f.Heads = &Block{Name: "Address", Words: heads, Header: true,
		Doc: "heads of the records with the addresses of kernel, sources and result, and of those with tags"}
	f.codec = &Codec{
		Version: f.version, Name: codecName(f.version), TableApart: true, FirstPort: laterPort,
		KernelsLast: f.apart && !f.wider, OutputsFirst: f.wider,
		Align: 0x10, Lead: 0x10, layout: f.layout, header: f.header,
		Blocks: []*Block{f.Header, f.Kernel, f.Common, f.Source, f.L2, f.PE, f.NE, f.Result, f.Cache}, Heads: f.Heads,
		addresses: f.addresses(), derive: deriveLate, derived: derivedLate,
		implied: []implied{{PEPreScale, FP16One}, {PEFinal, math.Float32bits(1)}},
	}
	lateForms = append(lateForms, &f)
	return f.codec
}

// derivedLate are the fields that deriveLate sets: where the sources come from, with a switch for each, and the place
// of a lookup table, which is its address.
var derivedLate = []Field{Source1, Source2DMA, StreamBase.At(TableStream)}

func deriveLate(t *Task) {
	t.setRaw(Source2DMA, t.raw(Src2En))
	t.SetBool(Source1, t.On(SrcEn) || !t.On(Src2En))
	t.setRaw(StreamBase.At(TableStream), t.raw(TableBase))
}

// addresses lists the records with addresses, in their order.
func (f *lateForm) addresses() (out []addressRecord) {
	src1, src2, res, tag1, tag2, tagRes := 4, 10, 2, 0, 1, 0
	if f.tags {
		src1, src2, res, tag1, tag2, tagRes = 6, 12, 4, 4, 5, 2
	}
	at := func(b *Block, word, words, head int, on func(t *Task) bool) {
		out = append(out, addressRecord{addr: b.Base + 4*uint32(word), words: words, head: head, on: on})
	}
	at(f.Kernel, 4, 2, headKernel, lanesOn)
	at(f.Kernel, f.table+2+f.table%2, 2, headKernel, tableOn)
	at(f.Source, src1, 2, headSource1, nil)
	at(f.Source, src2, 2, headSource2, nil)
	if f.twice {
		at(f.Source, src2, 2, headSource2, nil)
	}
	at(f.Result, res, 2, headResult, nil)
	at(f.Source, tag1, 1, headTag1, nil)
	at(f.Source, tag2, 1, headTag2, nil)
	at(f.Result, tagRes, 1, headTagResult, nil)
	return out
}

// defaults returns the values of registers that a task does not write, and the registers that every task writes.
func (f *lateForm) defaults() (values map[uint32]uint32, always []uint32) {
	values = map[uint32]uint32{0x4508: math.Float32bits(1), 0x4900: 0x82}
	for i := range uint32(Lanes) {
		values[0x5520+4*i], values[0x55a0+4*i] = IdleStreamV11, IdleSize
	}
	table := f.Kernel.Base + 4*uint32(f.table)
	values[table], values[table+4] = IdleStreamV11, IdleSize
	values[f.L2.Base+4*uint32(f.result0)] = 0x100
	if !f.apart {
		for addr, v := range defaultsV11 {
			if addr < CommonV11.Base+4*uint32(CommonV11.Words) {
				values[addr] = v
			}
		}
		values[0x0038] = 0
		return values, alwaysV11
	}
	for addr, v := range map[uint32]uint32{
		0x0000: 0x92, 0x0004: 256, 0x0010: 1, 0x0014: 256, 0x0020: 1, 0x0024: 1, 0x0028: 0x5000a041,
		0x002c: Word20Value, 0x0030: 0x10000, 0x0040: 3,
	} {
		values[addr] = v
	}
	return values, []uint32{0x004c}
}
