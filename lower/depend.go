package lower

import (
	"github.com/zinc-compiler/zinc/lower/td"
)

// Bits of the L2 block's source and result configurations (the words less their
// low four bits): which of the latest neural ("conv") and planar tasks a stream
// must not overtake, and the format in which it lies.
const (
	aliasConvSrc   = 0x1
	aliasConvRes   = 0x2
	formatGiven    = 0x4 // the stream names a buffer
	interleaveUnit = 0x10
	aliasPlanarSrc = 0x10000
	aliasPlanarRes = 0x40000
	aliasAll       = aliasConvSrc | aliasConvRes | aliasPlanarSrc | aliasPlanarRes
	twoStreams     = 0x100000 // both sources come by DMA
)

// Values of SrcDependent: source 1 is what the task before gives, in the order
// in which it gives it, so that the two may run side by side.
const (
	dependNeural = 1
	dependPlanar = 2
)

// span is a stretch of L2, empty when hi is not above lo.
type span struct{ lo, hi int64 }

func (s span) meets(o span) bool { return s.lo < o.hi && o.lo < s.hi }

// footprint is what a task does to L2.
type footprint struct {
	planar bool
	fetch  [2]span // sources on their way in from DRAM
	read   [2]span // sources that stand in L2
	give   span    // result that stays in L2
	leave  span    // result on its way out to DRAM
}

// footprintOf reads a placed task's words.
func (b *builder) footprintOf(i int) footprint {
	t := b.tasks[i]
	f := footprint{planar: t.Get(td.PlanarType) != 0}
	g := int64(max(t.Int(td.NumGroups), 1))
	place := func(base, ch, row, depth, group td.Field, w, h, d, c int64) span {
		at := int64(t.Int(base))
		return span{at, at + (g-1)*int64(t.Int(group)) + (d-1)*int64(t.Int(depth)) + (c-1)*int64(t.Int(ch)) +
			(h-1)*int64(t.Int(row)) + align(w*elemBytes, granule)}
	}
	ext := func(w, h, d, c td.Field, swap bool, spread ...td.Field) [4]int64 {
		e := [4]int64{int64(t.Int(w)), int64(t.Int(h)), int64(t.Int(d)), int64(t.Int(c))}
		for k := range e {
			e[k] = max(e[k], 1)
			if len(spread) > k && t.On(spread[k]) {
				e[k] = 1
			}
		}
		if swap {
			e[0], e[3] = e[3], e[0]
		}
		return e
	}
	staged := func(base td.Field, n int64) span { return span{int64(t.Int(base)), int64(t.Int(base)) + n} }
	e := ext(td.Win, td.Hin, td.Din, td.Cin, t.On(td.Swap1), td.Bcast1W, td.Bcast1H, td.Bcast1D, td.Bcast1C)
	if t.On(td.SrcEn) {
		f.fetch[0] = staged(td.L2Src, b.staged[i][0])
	} else {
		f.read[0] = place(td.L2Src, td.L2SrcCh, td.L2SrcRow, td.L2SrcDepth, td.L2SrcGroup, e[0], e[1], e[2], e[3])
	}
	switch {
	case t.On(td.Source2DMA):
		f.fetch[1] = staged(td.L2Src2, b.staged[i][1])
	case t.On(td.PETwo):
		e = ext(td.Win, td.Hin, td.Din, td.Cin, false, td.Bcast2W, td.Bcast2H, td.Bcast2D, td.Bcast2C)
		if t.Get(td.PlanarType) == pePair {
			e = [4]int64{1, 2, 1, int64(max(t.Int(td.Cin), 1))}
		}
		if t.On(td.Swap2) {
			e[0], e[3] = e[3], e[0]
		}
		f.read[1] = place(td.L2Src2, td.L2Src2Ch, td.L2Src2Row, td.L2Src2Depth, td.L2Src2Group, e[0], e[1], e[2], e[3])
	}
	e = ext(td.Wout, td.Hout, td.Dout, td.Cout, false)
	if t.Int(td.PlanarType) >= peReduce {
		e = [4]int64{1, 1, 1, e[3]}
	}
	if t.On(td.SwapResult) || t.On(td.SwapNE) {
		e[0], e[3] = e[3], e[0]
	}
	if t.On(td.DstEn) {
		f.leave = staged(td.L2Res, g*e[1]*e[2]*e[3]*align(e[0]*elemBytes, granule))
	} else {
		f.give = place(td.L2Res, td.L2ResCh, td.L2ResRow, td.L2ResDepth, td.L2ResGroup, e[0], e[1], e[2], e[3])
	}
	return f
}

// followsClosely reports whether task i takes source 1 from the task before it in
// the order in which that one gives it: the same extents, no row or channel
// taken more than once, a producer that finishes its channels in one output
// group (recorded chains; inferred from two products) and that does not keep its
// own source for later tasks (norm_layer_norm_ax3_1x1x1x64).
func (b *builder) followsClosely(i int, f, before footprint) bool {
	if i == 0 || f.read[0].hi == 0 || before.give.hi == 0 || f.read[0].lo != before.give.lo {
		return false
	}
	t, p := b.tasks[i], b.tasks[i-1]
	if t.On(td.Bcast1H) || t.On(td.Bcast1C) || t.On(td.Bcast1D) || p.Get(td.SrcType) == 1 {
		return false
	}
	wide := p.Int(td.Wout) * max(p.Int(td.Ox), 1)
	same := wide >= t.Int(td.Win) && wide < t.Int(td.Win)+max(p.Int(td.Ox), 1) && p.Get(td.Hout) == t.Get(td.Hin) &&
		p.Get(td.Dout) == t.Get(td.Din) &&
		p.Get(td.Cout) == t.Get(td.Cin) && p.Get(td.NumGroups) == t.Get(td.NumGroups)
	if small := p.On(td.SmallSource) && t.On(td.SmallSource); small && t.On(td.UnicastEn) {
		return false // channelwise work on an image of at most 8x8 (encoder_conv_pad_.._tiny)
	}
	groups := !before.planar && p.Get(td.NEOp) == neMultiply && !p.On(td.UnicastEn) &&
		p.Int(td.Cout) > td.Lanes<<p.Int(td.OCGSize)
	return same && !groups
}

// dependencies sets the words that order tasks against each other: alias and
// dependence bits of the L2 streams, and the marks of planar tasks that run back
// to back.
func (b *builder) dependencies() {
	feet := make([]footprint, len(b.tasks))
	lastNE, lastPE, readNE := -1, -1, false // readNE: a planar task has read lastNE's result
	readPE, freePE := false, false          // a neural task has read lastPE's; one not in step with it has
	for i, t := range b.tasks {
		f := b.footprintOf(i)
		feet[i] = f
		var before footprint
		if i > 0 {
			before = feet[i-1]
		}
		src, res := interleaveUnit*max(t.Int(td.SrcInterleave), 1), interleaveUnit*max(t.Int(td.DstInterleave),
			1)|formatGiven
		if t.On(td.SrcEn) || t.On(td.RBE0) {
			src |= formatGiven
		}
		if t.On(td.Source2DMA) {
			src |= twoStreams
		}
		close := b.followsClosely(i, f, before)
		dep := 0
		if close {
			dep = dependNeural
			if before.planar {
				dep = dependPlanar
			}
		}
		t.Set(td.SrcDependent, dep)
		reads := func(o span, from int) bool {
			first := f.read[0].meets(o) && (!close || from != i-1)
			return first || f.read[1].meets(o)
		}
		if lastNE >= 0 && reads(feet[lastNE].give, lastNE) && !readNE {
			src |= aliasConvRes
		}
		settled := readPE // by a task of the same engine, which waited
		if f.planar {
			settled = freePE
		}
		if lastPE >= 0 && reads(feet[lastPE].give, lastPE) && !settled {
			src |= aliasPlanarRes
		}
		// What another engine's task fetched and left in L2.
		kept := func(at int) bool { return at >= 0 && b.tasks[at].Get(td.SrcType) == 1 && reads(feet[at].fetch[0], at) }
		if f.planar && kept(lastNE) {
			src |= aliasConvSrc
		}
		if !f.planar && kept(lastPE) {
			src |= aliasPlanarSrc
		}
		taken := func(o footprint) bool {
			for _, x := range f.fetch {
				for k := range o.fetch {
					if x.meets(o.fetch[k]) || x.meets(o.read[k]) {
						return true
					}
				}
			}
			return false
		}
		switch {
		case t.On(td.SrcEn) && i == 0:
			src |= aliasAll
			res |= aliasAll
		case t.On(td.SrcEn) && !f.planar:
			src |= aliasConvSrc | aliasConvRes
			res |= aliasConvSrc | aliasConvRes
			if lastPE >= 0 && taken(feet[lastPE]) {
				src |= aliasPlanarSrc
			}
			if p := lastPE; p >= 0 && (f.give.meets(feet[p].leave) || f.leave.meets(feet[p].leave)) {
				res |= aliasPlanarRes
			}
		case t.On(td.SrcEn) && lastNE >= 0 && taken(feet[lastNE]):
			src |= aliasConvSrc
		}
		t.Set(td.SrcCfgRest, src).Set(td.ResCfgRest, res)
		if close {
			b.inStep(i)
		}
		if f.planar {
			t.SetBool(td.PlanarNext, i+1 < len(b.tasks) && b.tasks[i+1].Get(td.PlanarType) != 0)
			t.SetBool(td.PlanarBefore, i > 0 && before.planar)
			t.SetBool(td.DisallowAbort, t.On(td.PlanarNext))
			readNE = readNE || lastNE >= 0 && (f.read[0].meets(feet[lastNE].give) || f.read[1].meets(feet[lastNE].give))
			lastPE, readPE, freePE = i, false, false
		} else {
			if lastPE >= 0 && (f.read[0].meets(feet[lastPE].give) || f.read[1].meets(feet[lastPE].give)) {
				readPE, freePE = true, freePE || !close || lastPE != i-1
			}
			lastNE, readNE = i, false
		}
	}
}

// inStep sets the tiling of two tasks that run in step across the engines: the
// neural task folds rows in units of as many as its columns leave room for, also
// where it has fewer, and the patch of a planar task ahead of it is as high
// (recorded in softmax over rows and over channels; the patch of the maximum that
// reads a product of chain_attn_s64_dh64, which is two rows high as well, is not
// explained).
func (b *builder) inStep(i int) {
	t, p := b.tasks[i], b.tasks[i-1]
	switch {
	case t.Get(td.PlanarType) != 0 && p.Get(td.PlanarType) == 0:
		stepUnits(p, 0)
	case t.Get(td.PlanarType) == 0 && p.Get(td.PlanarType) != 0 && t.Get(td.NEOp) == neCopy:
		if s := stepUnits(t, p.Int(td.PatchHeight)); s > 0 {
			p.Set(td.PatchHeight, max(p.Int(td.PatchHeight), s))
		}
	}
}

// stepUnits folds a neural task's rows into units by its columns alone, and at least
// as many as a patch ahead of it has (norm_softmax_a1_1x128x16x16), unless a product
// or sum has chosen its own, and returns the shift.
func stepUnits(t *td.Task, patch int) int {
	s := min(patch, 4)
	for s < 4 && t.Int(td.Wout) <= workUnit>>(s+1) {
		s++
	}
	if s == 0 || t.Get(td.ShMin) != 0 {
		return 0
	}
	t.Set(td.ShMax, s).Set(td.ShMin, s).Set(td.ShPref, s)
	return s
}
