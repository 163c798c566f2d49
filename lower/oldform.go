package lower

import "github.com/zinc-compiler/zinc/lower/td"

// An oldRow is a field to which the compilers that wrote full tasks gave another value than current compilers do.
type oldRow struct {
	first td.Field
	count int    // elements of an array or lanes
	on    string // kind of task, from taskKind; "" for all
	value int
	// when limits the row to drafts of which it holds; nil is all.
	when func(d *draft) bool
	doc  string
}

// oldFields are the values in the recorded tasks of compiler version 4.2.1: one planar, two neural and two that
// multiply. Into fields of a unit that the task does not use, current compilers write an idle value and the old one
// nothing.
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

func noKernel(d *draft) bool { return d.kernel == nil }
func oneGroup(d *draft) bool { return d.groups() <= 1 }

// older returns the value of a field of the draft in the older form, v that of
// current compilers.
func older(f td.Field, v int, d *draft) int {
	for i := range oldFields {
		r := &oldFields[i]
		if f >= r.first && f < r.first.At(r.count) && (r.on == "" || r.on == d.taskKind()) &&
			(r.when == nil || r.when(d)) {
			return r.value
		}
	}
	return v
}

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
func (c *chain) throughL2(d *draft, at int64) {
	o := &d.dst
	if !d.does(td.NEMultiply) || o.swap || d.gather {
		return
	}
	ch := align(min(o.ext[axW]*d.window.ox, workUnit)*elemBytes, granule)
	depth := ch * o.ext[axC]
	whole := depth * max(o.ext[axD], 1)
	row := whole
	if ch <= 4*granule && whole/granule%banks == 0 {
		row += oldResultPad
	}
	if at+row*max(d.tile, 1) > c.t.L2Bytes {
		return
	}
	d.gather, o.l2 = true, l2Place{at, [4]int64{whole, depth, ch, row}}
}

// oldForm sets what the compilers that wrote full tasks decided otherwise than
// current ones: the unit shifts of a pass that does not multiply, whose work unit is two
// rows high at least, and always where a row is at most half a unit (relu and
// sigmoid with rows of 77; rows of 16 and 1). Products keep theirs; of these only
// results of one pixel are recorded, with shift 4. Single fields are in oldFields, the
// place of a result in L2 is throughL2's, the numbers of the ports are portRegisters'.
func (c *chain) oldForm() {
	if !c.old {
		return
	}
	for _, d := range c.drafts {
		if d.ne == nil || d.ne.op == td.NEMultiply {
			continue
		}
		s := max(d.shift.max, 1)
		d.shift.max, d.shift.pref = s, s
		if d.dst.ext[axW] <= workUnit/2 {
			d.shift.min = max(d.shift.min, 1)
		}
	}
}
