package lower

import "github.com/zinc-compiler/zinc/lower/td"

// An oldRow is a field to which the compilers that wrote full tasks gave another
// value than current ones do.
type oldRow struct {
	first td.Field
	count int    // elements of an array or lanes
	on    string // kind of task as taskKind tells it, "" for all
	value int
	// when limits the row to tasks of which it holds; nil is all.
	when func(t *td.Task) bool
	doc  string
}

// oldFields holds what the recorded tasks of compiler version 4.2.1 show: one planar,
// two neural and two that multiply. Where a field is of a unit that the task leaves
// alone, current compilers write an idle value and the old one nothing.
var oldFields = []oldRow{
	{first: td.StreamSize, count: 4, value: 0, doc: "all five; current tasks have 64"},
	{first: td.SrcGroup, count: 1, value: 0, when: oneGroup,
		doc: "all five have one group; current tasks state its stride all the same"},
	{first: td.Src2Group, count: 1, value: 0, when: oneGroup, doc: "as SrcGroup"},
	{first: td.DstGroup, count: 1, value: 0, when: oneGroup, doc: "as SrcGroup"},
	{first: td.StreamConfig, count: 4, on: "planar", value: 0, when: noKernel,
		doc: "the planar one; neural ones have 0x80 as current tasks"},
	{first: td.CoeffCacheHint, count: 16, on: "planar", value: 0, when: noKernel, doc: "as StreamConfig"},
	{first: td.CoeffSize, count: 16, on: "planar", value: 0, when: noKernel, doc: "as StreamConfig"},
	{first: td.Word40, count: 1, on: "planar", value: 0,
		doc: "the planar one; neural ones have 0x100 as current tasks"},
	{first: td.PalettizeBits, count: 1, on: "planar", value: 0, doc: "the planar one"},
	{first: td.MACWord20, count: 1, on: "planar", value: 0, doc: "the planar one"},
	{first: td.DstZeroLast, count: 1, on: "planar", value: 0, doc: "the planar one"},
	{first: td.DstZeroFirst, count: 1, on: "planar", value: 0, doc: "the planar one"},
	{first: td.KernelFmt, count: 1, on: "neural", value: 0, doc: "the two neural ones; current tasks have 2"},
	{first: td.BinaryPoint, count: 1, on: "neural", value: 0, doc: "the two neural ones; current tasks have 14"},
	{first: td.AccDoubleBuf, count: 1, on: "neural", value: 1, doc: "the two neural ones"},
	{first: td.AccDoubleBuf, count: 1, on: "multiply", value: 1, doc: "the two that multiply"},
}

func noKernel(t *td.Task) bool { return !t.On(td.KernelOn) }
func oneGroup(t *td.Task) bool { return t.Get(td.NumGroups) <= 1 }

// oldEvent is the bit of LogEvents that current tasks set and old ones do not.
const oldEvent = 0x8

// oldResultPad is the padding of a row of a product's result in L2 whose rows
// would start on one bank; others have none (64 granules; conv and conv3 with 3).
const oldResultPad = 2 * granule

// throughL2 lets the result of a product that leaves by DMA stand in L2 from at on
// before it leaves, as the older form does: elements, then channels, then depth,
// then rows, as sources stand. Results of other work leave as they come (relu,
// sigmoid, sum), and one that is put together in L2 anyway stays so. A tile that L2
// has no room for leaves as it comes (modelled).
func (b *builder) throughL2(i int, at int64) {
	t := b.tasks[i]
	if taskKind(t) != "multiply" || t.On(td.SwapNE) || t.Get(td.ResBfrMode) == 0 {
		return
	}
	ch := align(int64(min(t.Int(td.Wout)*max(t.Int(td.Ox), 1), workUnit))*elemBytes, granule)
	depth := ch * int64(t.Int(td.Cout))
	whole := depth * int64(max(t.Int(td.Dout), 1))
	row := whole
	if ch <= 4*granule && whole/granule%banks == 0 {
		row += oldResultPad
	}
	if at+row*int64(max(t.Int(td.TileHeight), 1)) > b.t.L2Bytes {
		return
	}
	setL2(t, td.L2Res, td.L2ResCh, td.L2ResRow, td.L2ResDepth, td.L2ResGroup,
		l2Place{at, [4]int64{whole, depth, ch, row}})
	t.Set(td.ResBfrMode, 0).Set(td.DstL2BfrMode, 0)
}

// oldShift sets the unit shifts of a pass that does not multiply: a work unit is
// two rows high at least, and always where a row is at most half a unit (relu and
// sigmoid with rows of 77; rows of 16 and 1). Products keep theirs; of these only
// results of one pixel are recorded, with shift 4.
func oldShift(t *td.Task) {
	s := max(t.Int(td.ShMax), 1)
	t.Set(td.ShMax, s).Set(td.ShPref, s)
	if t.Int(td.Wout) <= workUnit/2 {
		t.Set(td.ShMin, max(t.Int(td.ShMin), 1))
	}
}

// oldForm rewrites a lowered procedure as the compilers that wrote full tasks made
// it: every record whole, the fields of the table oldFields, and ports counted
// backwards by the names that current compilers count them by, which puts
// "probs@output" in front of "image2" and that in front of "image" as recorded.
// Where things stand in L2 the builder decides by the rules above.
func oldForm(p *Procedure) {
	last := 2*BarFirstPort + len(p.Inputs) + len(p.Outputs) - 1
	for _, l := range [][]Surface{p.Inputs, p.Outputs} {
		for i := range l {
			l[i].Bar = last - l[i].Bar
		}
	}
	for _, t := range p.Tasks {
		for _, b := range []struct{ bar, enable td.Field }{{td.RBase0, td.RBE0}, {td.RBase1, td.RBE1},
			{td.WBase, td.WBE}, {td.KBase0, td.KBE0}} {
			if n := t.Int(b.bar); t.On(b.enable) && n >= BarFirstPort {
				t.Set(b.bar, last-n)
			}
		}
		t.Set(td.LogEvents, t.Int(td.LogEvents)&^oldEvent)
		kind := taskKind(t)
		for _, r := range oldFields {
			if r.on != "" && r.on != kind || r.when != nil && !r.when(t) {
				continue
			}
			for i := range r.count {
				t.Set(r.first.At(i), r.value)
			}
		}
		if kind == "neural" {
			oldShift(t)
		}
		t.Spans = td.DefaultSpans(t.On(td.KernelOn), true)
	}
}
