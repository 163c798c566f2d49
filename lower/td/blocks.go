package td

// Blocks of version 7, in the order of every recorded task. They are declared here, before the fields of later
// versions, so that the table begins with the fields of version 7.
var (
	Header = &Block{
		Name:  "Header",
		Words: 11, Header: true,
		Doc: "task header of ten words, and an eleventh if KBase0 and KBE0 select a runtime kernel",
	}
	Kernel = &Block{
		Name:  "KernelDMA",
		Base:  0x1f800,
		Words: 62,
		Doc:   "kernel DMA: sixteen coefficient lanes and four streams",
	}
	Common  = &Block{Name: "Common", Base: 0x00000, Words: 16, Doc: "dimensions, convolution geometry, tiling"}
	TileSrc = &Block{Name: "TileDMASrc", Base: 0x13800, Words: 28, Doc: "tile DMA, two sources"}
	L2      = &Block{Name: "L2", Base: 0x04800, Words: 18, Doc: "L2 source, second source, result"}
	PE      = &Block{Name: "PE", Base: 0x08800, Words: 4, Doc: "planar engine"}
	NE      = &Block{Name: "NE", Base: 0x0c800, Words: 5, Doc: "neural engine"}
	TileDst = &Block{Name: "TileDMADst", Base: 0x17800, Words: 7, Doc: "tile DMA destination"}
)
