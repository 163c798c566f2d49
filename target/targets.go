package target

// H13 is the A14 and M1 generation.
var H13 = &Table{
	Name: "h13", Family: A13, Subtype: 4, Version: 7, TD: 7,
	MaxKernelW: 13, MaxKernelH: 29, MaxRowKernel: 13, SmallKernelW: 7, SmallKernelH: 15,
	MaxWidth: 16384, MaxHeight: 16384, MaxChannels: 65536, MaxRank: 5,
	MaxPool: 29, MaxStride: 3, MaxPad: 31, MaxGroups: 1<<13 - 1,
	ReduceTranspose: 192, MaxSurfaces: 28,
	MaxTasks: 1 << 16,
	L2Bytes:  2 << 20, L2Banks: 64, L2Granule: 16,
	WorkUnit: 128, SmallImage: 8,
	KernelBytes: 64 << 10, KernelStream: 16 << 20, StreamPixels: 128,
	Cores: 16, SurfaceAlign: 64,
	FoldsSmall:     true,
	MarksSwapped:   true,
	WaitsForEngine: true,
	WidthSliceEnd:  4096, FlushesProducts: true,
	HeaderBytes: 102400, HeaderFetch: 152,
	Arithmetic:  "ane",
	CostOf:      "M1",
	StreamForms: []string{"palette4", "palette8", "sparse"},
	Palettes:    1,
	Programs:    100,
	Kinds:       "every family of operations",
	NoCode:      []string{"topk", "argsort"},

	ConstantSegments: true,
}

// H13g is the M1 Pro, Max and Ultra.
var H13g = H13.variant("h13g").costs("M1 Max")

// Host is the target that the machine of chapter 27 reports, an M1.
var Host = H13g

// Default is the target of a compilation that names none.
var Default = H13

// The targets before h13 have no published limits: they have h13's, but the hardware's own may be lower. Their gates
// are published, and the number of their cores.
var (
	H11 = H13.with("h11", func(t *Table) {
		t.Family, t.Subtype, t.Version, t.TD, t.Base = A11Legacy, 1, 5, 0, "h13"
		t.Cores, t.Programs, t.Kinds = 8, 0, ""
	})
	H12 = H11.with("h12", func(t *Table) { t.Family, t.Subtype, t.Version = A12, 3, 6 })
)

// The targets after h13.
var (
	H14 = H13.with("h14", func(t *Table) {
		t.Family, t.Subtype, t.Version, t.TD = A14, 5, 11, 11
		t.FoldsSmall, t.FoldsPasses, t.PadsByUnit, t.MarksSwapped = false, true, true, false
		t.OverlapsSwapped, t.OverlapsBroadcast, t.PairsForOne = true, true, true
		t.LanesInPasses, t.SmallRows, t.TimesCopies = true, true, true
		t.WaitsForEngine, t.WaitsForKernel, t.GroupsMatrices = false, true, true
		t.MaxKernelW, t.MaxKernelH, t.MaxRowKernel = 16, 32, 16
		t.SmallKernelW, t.SmallKernelH = 8, 16
		t.MaxPool = 31
		t.StreamForms = append([]string{"int8"}, H13.StreamForms...)
		t.NoCode = nil
		t.ConstantSegments = false
		t.CostOf, t.Programs = "M2 Pro", 193
	})
	H15 = H14.with("h15", func(t *Table) {
		t.Family, t.Subtype, t.Version, t.TD = A15, 6, 8, 8
		t.ReduceTranspose = 384
		t.GroupsMatrices = false // no product of live tensors is recorded
		t.FetchesBroadcast, t.PadsWideRows, t.PlainRow = true, true, true
		t.Lowers = lateRules
		t.HeaderBytes, t.HeaderFetch = 153600, 228
		t.MaxSurfaces = 26 // ports' registers begin with 6
		t.StreamForms = append([]string{"blockwise"}, H14.StreamForms...)
		t.Programs, t.Kinds = 5, oneTask
	})
	H16 = H15.with("h16", func(t *Table) {
		t.ConstantSegments = true
		t.MaxSurfaces = 25 // the register after them is for kernels
		t.Subtype, t.Version, t.TD = 7, 17, 17
		t.MaxWidth, t.MaxHeight = 65536, 65536
		t.Arithmetic, t.WidthSliceEnd, t.FlushesProducts = "ane-fixed", 0, false
		t.MaxKernelH, t.MaxRowKernel = 31, 15
		t.StateMultiple = 32
		t.StreamForms = append([]string{
			"int4", "uint4", "uint8", "asymmetric-int4", "asymmetric-uint4", "asymmetric-int8", "asymmetric-uint8",
			"palette1", "palette2", "palette3", "palette6",
			"sparse+palette4", "sparse+palette8", "sparse+int8", "sparse+blockwise",
		}, H15.StreamForms...)
		t.CostOf, t.Programs = "M4", 8
	})
	H17 = H16.with("h17", func(t *Table) {
		t.Family, t.Subtype, t.Version, t.TD = A16, 9, 19, 19
		t.FindsZeros = true
		t.CostOf, t.Programs = "M5 Pro", 38
	})
	H17s = H17.with("h17s", func(t *Table) { t.Family, t.Programs, t.Kinds = A17, 0, "" })
	H18  = H17s.with("h18", func(t *Table) {
		t.Subtype, t.Version, t.TD = 10, 20, 20
		t.HeaderBytes, t.HeaderFetch = 180000, 208
		t.SmallSources = true
		t.StreamForms = append([]string{"vector-palette4"}, H16.StreamForms...)
		t.CostOf, t.Programs, t.Kinds = "M6", 24, oneTask
	})
	H18g = H18.with("h18g", func(t *Table) {
		t.Subtype, t.Version, t.TD = 11, 24, 24
		t.MaxSurfaces = 26 // the register of kernels is one before the ports'
		t.StreamForms = append([]string{"multi-palette4", "multi-palette8"}, H18.StreamForms...)
		t.Palettes = 16
		t.Lowers = append([]string{"convolution"}, H18.Lowers...)
		t.WideByPairs, t.SkipsFilled, t.RoundsByMemory, t.KeepsKernel, t.WaitsForKept = true, true, true, true, true
		t.HeaderRead, t.HeaderWrite, t.HeaderKernel, t.HeaderProducts = 116000, 83700, 167400, 4096*2508
		t.Programs, t.Kinds, t.FormsOf = 2, "convolutions", "h18"
	})
	// H19 has the container subtype and the blocks of h18g, but one header field and the last word of its streams are
	// not those of h18g, and no source has them.
	H19 = H18g.variant("h19").with("h19", func(t *Table) { t.TD, t.Lowers, t.FormsOf = 0, nil, "" })
)

// lateRules are the rules of package lower that those programs take.
var lateRules = []string{"elementwise", "abs", "relu", "clip", "table", "linear", "matmul"}

// oneTask are the kinds of programs that are recorded of h15 to h18.
const oneTask = "elementwise operations, activations and products with constant weights"

// All is every table, oldest generation first. The variants of a generation differ in their cores alone.
var All = []*Table{
	H11, H12,
	H13, H13g,
	H14, H14.variant("h14g"), H14.variant("h14c"),
	H15, H15.variant("h15g"),
	H16, H16.variant("h16g"), H16.variant("h16s"), H16.variant("h16c"),
	H17, H17.variant("h17a"), H17.variant("h17g"), H17.variant("h17c"), H17.variant("h17d"), H17s,
	H18, H18g, H19,
}

// variant returns a target of the same generation with other cores. No program is recorded of any of them.
func (t *Table) variant(name string) *Table {
	return t.with(name, func(t *Table) { t.Programs, t.Kinds = 0, "" })
}

// costs returns the table with the costs of another chip.
func (t *Table) costs(chip string) *Table {
	t.CostOf = chip
	return t
}

// with returns a copy of the table under another name, with changes applied.
func (t *Table) with(name string, change func(t *Table)) *Table {
	c := *t
	c.Name, c.from = name, t
	change(&c)
	return &c
}
