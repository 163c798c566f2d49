package td

import "fmt"

// A fullRow is a field to which the compilers that wrote full tasks gave another value than current compilers do.
type fullRow struct {
	field Field // all elements, if it is indexed
	value uint32
	when  func(t *Task) bool // limits the row to some tasks; nil is all
}

// fullRows are the values in the recorded tasks of compiler version 4.2.1: one planar, two neural and two that
// multiply. Into fields of a unit that the task does not use, current compilers write an idle value and the old one
// nothing.
var fullRows = []fullRow{
	{StreamSize, 0, nil},             // all five; current tasks have 64
	{SrcGroup, 0, oneGroup},          // all five have one group; current tasks state its stride all the same
	{Src2Group, 0, oneGroup},         // as SrcGroup
	{DstGroup, 0, oneGroup},          // as SrcGroup
	{StreamConfig, 0, planarAlone},   // the planar one; neural ones have 0x80 as current tasks
	{CoeffCacheHint, 0, planarAlone}, // as StreamConfig
	{CoeffSize, 0, planarAlone},      // as StreamConfig
	{Word40, 0, planar},              // the planar one; neural ones have 0x100 as current tasks
	{PalettizeBits, 0, planar},       // the planar one
	{MACWord20, 0, planar},           // the planar one
	{DstZeroLast, 0, planar},         // the planar one
	{DstZeroFirst, 0, planar},        // the planar one
	{KernelFmt, 0, nonmultiplying},   // the two neural ones; current tasks have 2
	{BinaryPoint, 0, nonmultiplying}, // the two neural ones; current tasks have 14
	{AccDoubleBuf, 1, neural},        // the two neural ones and the two that multiply
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

// Complete turns a task whose values are as version 7 codes them into one of the codec's version: it sets what the
// codec writes into fields that a task does not use.
func (c *Codec) Complete(t *Task) {
	if c.form != nil {
		c.form.complete(t)
	}
}

func (f formV7) complete(t *Task) {
	if !f.older {
		return
	}
	t.val[LogEvents] &^= fullEvent
	for i := range fullRows {
		if r := &fullRows[i]; r.when == nil || r.when(t) {
			for i := range max(1, table[r.field].Array.Len) {
				t.val[r.field.At(i)] = r.value
			}
		}
	}
	t.Spans = wholeSpans
}
