package td

import (
	"math"

	"github.com/x448/float16"
)

// Values that recorded tasks of the versions after 11 have (105 tasks).
const (
	twoStreams        = 0x100000 // in SrcCfg of version 7: source 2 comes by DMA
	eventFirst        = 0x8      // of version 11
	eventLast         = 0x20
	eventsFirstV17    = 0x68
	eventsLastV8      = 0x3000000
	eventsLastV17     = 0x4000000
	debugEventFirst   = 0x8 // from version 17 on, in the first task alone
	binaryPointV17    = 0x3c
	condAbsV17        = 7
	tagBar            = 4 // of the system cache's tag
	tagBarV24         = 5
	dstCompressionV20 = 15
	dstHintV19        = 2
)

// lastCache are the words of the cache DMA in a chain's last task, and lastOfMany what the third has beside the task's
// index, unless the task is the only one.
var lastCache = [len(cacheWords)]uint32{0x12, 0xa000a0, 0, 0, 0x7f0000, 0x20010701}

const lastOfMany = 0xe0

// complete is packed.complete of the versions after 11: as version 11, with what the form has elsewhere.
func (f *lateForm) complete(t *Task) {
	first, second := Streams[StreamSource1].Moved(t), t.On(Source2DMA)
	completeV11(f.codec, t)
	f.events(t)
	t.SetBool(SrcEn, first)
	t.SetBool(Src2En, second)
	if !first {
		t.setRaw(SrcHint, 0)
	}
	t.val[SrcCfgRest] &^= twoStreams
	if t.Planar() != NotPlanar {
		t.setRaw(PEBias32, widened(t.raw(PEBias)))
		t.setRaw(PEScale32, widened(t.raw(PEScale)))
		if f.apart && t.raw(PECond) != 0 {
			t.setRaw(PECond, condAbsV17)
		}
	} else if f.apart && t.raw(BinaryPoint) != 0 {
		t.setRaw(BinaryPoint, binaryPointV17)
	}
	f.tag(t)
	for _, x := range goneLate {
		t.setRaw(x, 0)
	}
}

// events sets the event masks and the words of the cache DMA, which depend on the task's place in its chain.
func (f *lateForm) events(t *Task) {
	first, last := t.raw(LogEvents)&eventFirst != 0, t.raw(LogEvents)&eventLast != 0
	switch {
	case !f.apart && last:
		t.val[LogEvents] |= eventsLastV8
	case f.apart:
		t.setRaw(LogEvents, 0)
		if first {
			t.val[LogEvents] |= eventsFirstV17
		} else {
			t.val[DebugLogEvents] &^= debugEventFirst
		}
		if last {
			t.val[LogEvents] |= eventsLastV17
		}
	}
	if !last {
		return
	}
	for i, w := range lastCache {
		t.setRaw(Cache.At(i), w)
	}
}

// tag names the tags of the system cache of the tensors that come and go by DMA.
func (f *lateForm) tag(t *Task) {
	bar := uint32(tagBar)
	if f.wider {
		bar = tagBarV24
	}
	for i, on := range [...]Field{SrcEn, Src2En, DstEn} {
		if t.On(on) {
			t.setRaw(TagBar.At(i), bar)
			t.setRaw(TagOn.At(i), 1)
		}
	}
	if t.On(DstEn) && f.network > 0 {
		t.setRaw(DstCacheHint, dstHintV19)
	}
	if f.tags {
		t.setRaw(DstZeroFirst, 0)
		t.setRaw(DstZeroLast, 0)
		if t.On(DstEn) {
			t.setRaw(DstCmpVec, dstCompressionV20)
		}
	}
	for _, x := range [...]Field{SrcDataSet, Src2DataSet, DstDataSet} {
		t.setRaw(x, 0)
	}
}

// widened returns the fp32 bits of an fp16 number.
func widened(half uint32) uint32 { return math.Float32bits(float16.Frombits(uint16(half)).Float32()) }

// goneLate are fields of version 11 without a place in later ones, which tasks of version 7 set.
var goneLate = []Field{
	PEBias, PEScale, StreamConfig.At(0), StreamConfig.At(1), StreamConfig.At(2), StreamSize.At(0), StreamSize.At(1),
	StreamSize.At(2), StreamBase.At(TableStream),
}
