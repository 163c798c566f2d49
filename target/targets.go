package target

// H13 is the A14 and M1 generation.
var H13 = &Table{
	Name: "h13", Family: A13, Subtype: 4, TD: 7,
	MaxKernelW: 13, MaxKernelH: 29, SmallKernelW: 7, SmallKernelH: 15,
	MaxWidth: 16384, MaxHeight: 16384, MaxChannels: 65536, MaxRank: 5,
	MaxPool: 29, MaxStride: 3, MaxPad: 31, MaxGroups: 1<<13 - 1,
	ReduceTranspose: 192, MaxSurfaces: 28,
	MaxTasks: 1 << 16,
	L2Bytes:  2 << 20, L2Banks: 64, L2Granule: 16,
	WorkUnit: 128, SmallImage: 8,
	KernelBytes: 64 << 10, KernelStream: 16 << 20, StreamPixels: 128,
	Cores: 16, SurfaceAlign: 64,
	CostOf:      "h13",
	StreamForms: []string{"palette4", "palette8", "sparse"},
	NoCode:      []string{"topk", "argsort"},
}

// The targets before h13 have no published limits: they have h13's, but the hardware's own may be lower. Their gates
// are published.
var (
	H11 = H13.with("h11", func(t *Table) { t.Family, t.Subtype, t.TD, t.Base = A11Legacy, 1, 0, "h13" })
	H12 = H13.with("h12", func(t *Table) { t.Family, t.Subtype, t.TD, t.Base = A12, 3, 0, "h13" })
)

// The targets after h13.
var (
	H14 = H13.with("h14", func(t *Table) {
		t.Family, t.Subtype, t.TD = A14, 5, 0
		t.MaxKernelW, t.MaxKernelH = 16, 32
		t.SmallKernelW, t.SmallKernelH = 8, 16
		t.MaxPool = 31
		t.StreamForms = append([]string{"int8"}, H13.StreamForms...)
		t.NoCode = nil
	})
	H15 = H14.with("h15", func(t *Table) {
		t.Family, t.Subtype = A15, 6
		t.ReduceTranspose = 384
		t.StreamForms = append([]string{"blockwise"}, H14.StreamForms...)
	})
	H16 = H15.with("h16", func(t *Table) {
		t.Subtype = 7
		t.MaxWidth, t.MaxHeight = 65536, 65536
		t.StateMultiple = 32
		t.StreamForms = []string{StreamAll}
	})
	H17  = H16.with("h17", func(t *Table) { t.Family, t.Subtype = A16, 9 })
	H17s = H17.with("h17s", func(t *Table) { t.Family = A17 })
	H18  = H17s.with("h18", func(t *Table) { t.Subtype = 10 })
)

// All is every table, oldest generation first.
var All = []*Table{
	H11, H12,
	H13, H13.with("h13g", nil),
	H14, H14.with("h14g", nil), H14.with("h14c", nil),
	H15, H16,
	H17, H17.with("h17a", nil), H17.with("h17g", nil), H17.with("h17c", nil), H17.with("h17d", nil), H17s,
	H18,
}

// with returns a copy of the table under another name, with changes applied.
func (t *Table) with(name string, change func(t *Table)) *Table {
	c := *t
	c.Name = name
	if change != nil {
		change(&c)
	}
	return &c
}
