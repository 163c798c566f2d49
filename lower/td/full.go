package td

import "fmt"

// A fullRow is a field to which the compilers that wrote full tasks gave another value than current compilers do.
type fullRow struct {
	first Field
	count int // elements of an array or lanes
	value int
	when  func(t *Task) bool // limits the row to some tasks; nil is all
	doc   string
}

// fullRows are the values in the recorded tasks of compiler version 4.2.1: one planar, two neural and two that
// multiply. Into fields of a unit that the task does not use, current compilers write an idle value and the old one
// nothing.
var fullRows = []fullRow{
	{StreamSize, 4, 0, nil, "all five; current tasks have 64"},
	{SrcGroup, 1, 0, oneGroup, "all five have one group; current tasks state its stride all the same"},
	{Src2Group, 1, 0, oneGroup, "as SrcGroup"},
	{DstGroup, 1, 0, oneGroup, "as SrcGroup"},
	{StreamConfig, 4, 0, planarAlone, "the planar one; neural ones have 0x80 as current tasks"},
	{CoeffCacheHint, Lanes, 0, planarAlone, "as StreamConfig"},
	{CoeffSize, Lanes, 0, planarAlone, "as StreamConfig"},
	{Word40, 1, 0, planar, "the planar one; neural ones have 0x100 as current tasks"},
	{PalettizeBits, 1, 0, planar, "the planar one"},
	{MACWord20, 1, 0, planar, "the planar one"},
	{DstZeroLast, 1, 0, planar, "the planar one"},
	{DstZeroFirst, 1, 0, planar, "the planar one"},
	{KernelFmt, 1, 0, nonmultiplying, "the two neural ones; current tasks have 2"},
	{BinaryPoint, 1, 0, nonmultiplying, "the two neural ones; current tasks have 14"},
	{AccDoubleBuf, 1, 1, neural, "the two neural ones and the two that multiply"},
}

func planar(t *Task) bool         { return t.Planar() != NotPlanar }
func neural(t *Task) bool         { return t.Planar() == NotPlanar }
func nonmultiplying(t *Task) bool { return neural(t) && !t.Multiplies() }
func planarAlone(t *Task) bool    { return planar(t) && !t.On(KernelOn) }
func oneGroup(t *Task) bool       { return t.Extent(NumGroups) == 1 }

// fullEvent is the bit of LogEvents that current tasks set and full ones do not.
const fullEvent = 0x8

// Full returns the codec that writes a version as the compilers did that wrote every record whole.
func (c *Codec) Full() (*Codec, error) {
	if c.Version != V7Full.Version {
		return nil, fmt.Errorf("descriptor version %d has no form in which every record is whole, version %d has",
			c.Version, V7Full.Version)
	}
	return V7Full, nil
}

// Complete sets what the codec writes into fields that a task does not use.
func (c *Codec) Complete(t *Task) {
	if !c.Older {
		return
	}
	t.val[LogEvents] &^= fullEvent
	for i := range fullRows {
		if r := &fullRows[i]; r.when == nil || r.when(t) {
			for f := r.first; f < r.first.At(r.count); f++ {
				t.val[f] = uint32(r.value)
			}
		}
	}
	t.Spans = wholeSpans
}
