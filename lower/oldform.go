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

// oldForm holds what the recorded tasks of compiler version 4.2.1 show: one planar,
// two neural and two that multiply. Where a field is of a unit that the task leaves
// alone, current compilers write an idle value and the old one nothing.
var oldForm = []oldRow{
	{td.StreamSize, 4, "", 0, nil, "all five; current tasks have 64"},
	{td.SrcGroup, 1, "", 0, oneGroup, "all five have one group; current tasks state its stride all the same"},
	{td.Src2Group, 1, "", 0, oneGroup, "as SrcGroup"},
	{td.DstGroup, 1, "", 0, oneGroup, "as SrcGroup"},
	{td.StreamConfig, 4, "planar", 0, noKernel, "the planar one; neural ones have 0x80 as current tasks"},
	{td.CoeffCacheHint, 16, "planar", 0, noKernel, "as StreamConfig"},
	{td.CoeffSize, 16, "planar", 0, noKernel, "as StreamConfig"},
	{td.Word40, 1, "planar", 0, nil, "the planar one; neural ones have 0x100 as current tasks"},
	{td.PalettizeBits, 1, "planar", 0, nil, "the planar one"},
	{td.MACWord20, 1, "planar", 0, nil, "the planar one"},
	{td.DstZeroLast, 1, "planar", 0, nil, "the planar one"},
	{td.DstZeroFirst, 1, "planar", 0, nil, "the planar one"},
	{td.KernelFmt, 1, "neural", 0, nil, "the two neural ones; current tasks have 2"},
	{td.BinaryPoint, 1, "neural", 0, nil, "the two neural ones; current tasks have 14"},
	{td.AccDoubleBuf, 1, "neural", 1, nil, "the two neural ones"},
	{td.AccDoubleBuf, 1, "multiply", 1, nil, "the two that multiply"},
}

func noKernel(t *td.Task) bool { return !t.On(td.KernelOn) }
func oneGroup(t *td.Task) bool { return t.Get(td.NumGroups) <= 1 }

// oldEvent is the bit of LogEvents that current tasks set and old ones do not.
const oldEvent = 0x8

// oldShWidth bounds the width of an old neural task's output at shift 0: its
// largest shift s is the largest up to 4 with width <= oldShWidth >> s. Modelled
// from widths 77 (1) and 1 (4).
const oldShWidth = 256

// OldForm rewrites a lowered procedure as the compilers that wrote full tasks made
// it: every record whole, the fields of the table oldForm, and ports counted
// backwards by the names that current compilers count them by, which puts
// "probs@output" in front of "image2" and that in front of "image" as recorded. L2
// addresses and the choice of what passes through L2 stay as current compilers
// make them.
func OldForm(p *Procedure) {
	last := 2*BarFirstPort + len(p.Inputs) + len(p.Outputs) - 1
	for _, l := range [][]Surface{p.Inputs, p.Outputs} {
		for i := range l {
			l[i].Bar = last - l[i].Bar
		}
	}
	for _, t := range p.Tasks {
		for _, b := range []struct{ bar, enable td.Field }{{td.RBase0, td.RBE0}, {td.RBase1, td.RBE1}, {td.WBase, td.WBE}} {
			if n := t.Int(b.bar); t.On(b.enable) && n >= BarFirstPort {
				t.Set(b.bar, last-n)
			}
		}
		t.Set(td.LogEvents, t.Int(td.LogEvents)&^oldEvent)
		kind := taskKind(t)
		for _, r := range oldForm {
			if r.on != "" && r.on != kind || r.when != nil && !r.when(t) {
				continue
			}
			for i := range r.count {
				t.Set(r.first.At(i), r.value)
			}
		}
		if kind != "planar" {
			s := 4
			for s > 0 && t.Int(td.Wout) > oldShWidth>>s {
				s--
			}
			t.Set(td.ShMax, s).Set(td.ShPref, s)
		}
		t.Spans = td.DefaultSpans(t.On(td.KernelOn), true)
	}
}
