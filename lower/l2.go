package lower

import (
	"sort"

	"github.com/zinc-compiler/zinc/lower/td"
)

// stream is one tile-DMA stream of a task: the fields that place it in DRAM and
// those that place it in L2.
type stream struct {
	bar, enable               td.Field
	base                      td.Field
	row, plane, depth, group  td.Field
	l2, l2row, l2ch, l2d, l2g td.Field
	inter                     td.Field
	pix                       td.Field // of a source
	source                    bool
	extH, extC, extD          td.Field
	spreadH, spreadC          td.Field // of a source
	swap                      td.Field
	off                       func(t *td.Task) // turns the DMA off and clears its format
	park                      func(t *td.Task) // turns the DMA off, the buffer staying named
}

// streams are the three tile-DMA streams, by the field that holds their buffer.
var streams = map[td.Field]stream{
	td.RBase0: {
		bar: td.RBase0, enable: td.RBE0, base: td.SrcBase,
		row: td.SrcRow, plane: td.SrcPlane, depth: td.SrcDepth, group: td.SrcGroup,
		l2: td.L2Src, l2row: td.L2SrcRow, l2ch: td.L2SrcCh, l2d: td.L2SrcDepth, l2g: td.L2SrcGroup,
		inter: td.SrcInterleave, pix: td.PixelOffset, source: true, extH: td.Hin, extC: td.Cin, extD: td.Din, spreadH: td.Bcast1H, spreadC: td.Bcast1C, swap: td.Swap1,
		off: func(t *td.Task) {
			t.SetBool(td.SrcEn, false).SetBool(td.SrcLoc, false).Set(td.SrcNoReuse, 8).Set(td.SrcDependency, 0)
			t.Set(td.SrcFmtMode, 0).Set(td.SrcTruncate, 0).Set(td.SrcMemFmt, 0)
			t.Set(td.SrcType, 0).Set(td.SrcCfgRest, 0x12)
		},
		park: func(t *td.Task) {
			t.SetBool(td.SrcEn, false).SetBool(td.SrcLoc, false).Set(td.SrcNoReuse, 8).Set(td.SrcDependency, 4)
			t.Set(td.SrcType, 0).Set(td.SrcCfgRest, 0x16)
		},
	},
	td.RBase1: {
		bar: td.RBase1, enable: td.RBE1, base: td.Src2Base,
		row: td.Src2Row, plane: td.Src2Plane, depth: td.Src2Depth, group: td.Src2Group,
		l2: td.L2Src2, l2row: td.L2Src2Row, l2ch: td.L2Src2Ch, l2d: td.L2Src2Depth, l2g: td.L2Src2Group,
		inter: td.Src2Interleave, pix: td.PixelOffset.At(1), source: true, extH: td.Hin, extC: td.Cin, extD: td.Din, spreadH: td.Bcast2H, spreadC: td.Bcast2C, swap: td.Swap2,
		off: func(t *td.Task) {
			t.SetBool(td.Source2DMA, false).Set(td.Src2Config, 0x8880>>1).Set(td.Src2Truncate, 0).Set(td.Src2MemFmt, 0)
		},
		park: func(t *td.Task) { t.SetBool(td.Source2DMA, false).Set(td.Src2Config, 0x8880>>1) },
	},
	td.WBase: {
		bar: td.WBase, enable: td.WBE, base: td.DstBase,
		row: td.DstRow, plane: td.DstPlane, depth: td.DstDepth, group: td.DstGroup,
		l2: td.L2Res, l2row: td.L2ResRow, l2ch: td.L2ResCh, l2d: td.L2ResDepth, l2g: td.L2ResGroup,
		inter: td.DstInterleave, extH: td.Hout, extC: td.Cout, extD: td.Dout, swap: td.SwapNE,
		off: func(t *td.Task) {
			t.SetBool(td.DstEn, false).SetBool(td.DstLoc, false).Set(td.DstL2BfrMode, 0)
			t.Set(td.DstFmtMode, 0).Set(td.DstTruncate, 0).Set(td.DstMemFmt, 0).Set(td.DstZeroFirst, 0).Set(td.DstZeroLast, 0)
			t.Set(td.ResType, 0).Set(td.ResBfrMode, 0).SetBool(td.TBE, true)
		},
		park: func(t *td.Task) {
			t.SetBool(td.DstEn, false).SetBool(td.DstLoc, false).Set(td.DstL2BfrMode, 0).Set(td.ResType, 0).Set(td.ResBfrMode, 0).SetBool(td.TBE, true)
		},
	},
}

// resident is a buffer that may stay in L2 from its first task to its last.
type resident struct {
	buf  *buffer
	uses []*fixup
	row  int64 // bytes of DRAM that stand for one row
	pack int64 // bytes of L2 that one row takes
	bare int64 // bytes of L2 that one row fills, without padding
	size int64 // bytes of L2
	at   int64 // L2 address
	kept bool  // a source that came by DMA, kept for further tasks; uses are its readers
}

// keepInL2 moves scratch buffers that fit between the tasks' own needs into L2,
// so that they never travel to DRAM, and returns the fixups that are left.
// A buffer keeps its row-major order; only the padding of its rows shrinks from
// 64 to 16 bytes where every access starts on a row.
func (b *builder) keepInL2() {
	var cand []*resident
	byBuf := map[*buffer]*resident{}
	for i := range b.fixups {
		f := &b.fixups[i]
		if f.buf.space != scratch {
			continue
		}
		r := byBuf[f.buf]
		if r == nil {
			r = &resident{buf: f.buf}
			byBuf[f.buf] = r
			cand = append(cand, r)
		}
		r.uses = append(r.uses, f)
	}
	cand = append(b.keepSources(), cand...)
	sort.SliceStable(cand, func(i, j int) bool { return cand[i].buf.def < cand[j].buf.def })
	b.largerFirst(cand)
	b.l2floor = make([]int64, len(b.tasks))
	var live []*resident // by address
	moved := map[*buffer]bool{}
	for _, r := range cand {
		if !r.kept && !b.fitsL2(r) {
			continue
		}
		// Forget what ended before this begins.
		n := 0
		for _, l := range live {
			if l.buf.last >= r.buf.def {
				live[n] = l
				n++
			}
		}
		live = live[:n]
		r.at = lowest(live, r.size)
		if !b.roomAbove(r) {
			continue
		}
		live = append(live, r)
		sort.SliceStable(live, func(i, j int) bool { return live[i].at < live[j].at })
		for i := r.buf.def; i <= r.buf.last; i++ {
			b.l2floor[i] = max(b.l2floor[i], r.at+r.size)
		}
		if r.kept {
			b.keep(r)
			continue
		}
		for _, f := range r.uses {
			b.toL2(r, f)
		}
		if !r.buf.named {
			moved[r.buf] = true
		}
		b.resident++
	}
	left := b.fixups[:0]
	for _, f := range b.fixups {
		if f.buf != nil && !moved[f.buf] {
			left = append(left, f)
		}
	}
	b.fixups = left
}

// roomAbove reports whether every task in the buffer's life still has the L2
// that it takes itself, above the buffers that stay.
func (b *builder) roomAbove(r *resident) bool {
	for i := r.buf.def; i <= r.buf.last; i++ {
		if align(max(b.l2floor[i], r.at+r.size), 64)+b.l2use[i] > b.t.L2Bytes {
			return false
		}
	}
	return true
}

// placeTransients gives what passes through L2 its place above the buffers that
// stay there meanwhile: the sources that come by DMA, then the result that leaves.
func (b *builder) placeTransients() {
	last := -1 // planar task before this one
	for i, t := range b.tasks {
		top := b.l2floor[i]
		if t.On(td.SrcEn) && !b.kept[i] {
			t.Set(td.L2Src, int(top))
			top += b.staged[i][0]
		}
		if t.On(td.Source2DMA) {
			t.Set(td.L2Src2, int(bankApart(top)))
			top = bankApart(top) + b.staged[i][1]
		}
		if t.On(td.DstEn) {
			t.Set(td.L2Res, int(min(top, b.t.L2Bytes-granule)))
		}
		second := t.On(td.PETwo)
		format := t.Int(td.ResCfgRest) & 0xf0
		switch {
		case t.On(td.SrcEn) && !second && last >= 0:
			b.aliases(i, last)
		case t.On(td.SrcEn) && (!second || t.On(td.Source2DMA)):
			t.Set(td.ResCfgRest, t.Int(td.ResCfgRest)&^0xfffff|0x50007|format)
		default:
			t.Set(td.ResCfgRest, t.Int(td.ResCfgRest)&^0xfffff|0x4|format)
			if t.On(td.SrcEn) {
				t.Set(td.SrcCfgRest, 0x17)
			}
		}
		if t.Get(td.PlanarType) != 0 {
			last = i
		}
	}
}

// aliases says of task i, whose source comes by DMA, what its places in L2 share
// with the planar task before it: the source with that task's source, the result
// with that task's result (rrmm_r2rr_m64, rrmm_r3rr_m32, chain_attn; before the
// first planar task all marks are set).
func (b *builder) aliases(i, planar int) {
	t, p := b.tasks[i], b.tasks[planar]
	src, res := 0x17, 0x7|t.Int(td.ResCfgRest)&0xf0
	if at, from := int64(t.Int(td.L2Src)), int64(p.Int(td.L2Src)); at < from+b.staged[planar][0] && from < at+b.staged[i][0] {
		src |= 0x10000
	}
	// What passes on its way out has no known end.
	if t.Get(td.L2Res) >= p.Get(td.L2Res) || t.On(td.DstEn) || b.l2floor[i] > int64(p.Int(td.L2Res)) {
		res |= 0x40000
	}
	t.Set(td.SrcCfgRest, src).Set(td.ResCfgRest, t.Int(td.ResCfgRest)&^0xfffff|res)
}

// keepSources finds sources that come by DMA in several tasks of one operation,
// the same window in the same layout: the first keeps them in L2 for the others.
func (b *builder) keepSources() []*resident {
	byTask := map[int]*fixup{}
	for i := range b.fixups {
		if f := &b.fixups[i]; f.bar == td.RBase0 {
			byTask[f.task] = f
		}
	}
	var out []*resident
	var cur *resident
	for i, t := range b.tasks {
		f := byTask[i]
		// All of the source must stand in L2 at once.
		whole := t.Int(td.TileHeight) >= t.Int(td.Hout) && t.Int(td.L2SrcCh) >= t.Int(td.Win)*elemBytes && t.Get(td.NumGroups) <= 1
		if f == nil || !t.On(td.SrcEn) || !whole || t.On(td.Swap1) || f.buf.space == scratch {
			cur = nil
			continue
		}
		if cur != nil && b.infos[cur.uses[0].task].Op == b.infos[i].Op && sameWindow(b.tasks[cur.uses[0].task], t, cur.uses[0], f) {
			cur.uses = append(cur.uses, f)
			cur.buf.last = i
			if len(cur.uses) == 2 {
				out = append(out, cur)
			}
			continue
		}
		cur = &resident{kept: true, buf: &buffer{space: f.buf.space, def: i, last: i}, uses: []*fixup{f}, size: align(b.l2use[i], granule)}
		if !t.On(td.Source2DMA) {
			cur.size = b.staged[i][0]
		}
	}
	return out
}

// windowFields are the fields of which two tasks that read source 1 alike agree.
var windowFields = []td.Field{
	td.Win, td.Hin, td.Din, td.Cin, td.NumGroups, td.SrcRow, td.SrcPlane, td.SrcDepth, td.SrcGroup, td.SrcInterleave,
	td.PixelOffset, td.Swap1, td.Bcast1W, td.Bcast1H, td.Bcast1D, td.Bcast1C, td.L2SrcCh, td.L2SrcRow, td.L2SrcDepth, td.L2SrcGroup,
}

func sameWindow(a, b *td.Task, fa, fb *fixup) bool {
	if fa.buf != fb.buf || fa.off != fb.off {
		return false
	}
	for _, f := range windowFields {
		if a.Get(f) != b.Get(f) {
			return false
		}
	}
	return (a.Get(td.PlanarType) == 0) == (b.Get(td.PlanarType) == 0)
}

// keep points the tasks of a kept source at its place.
func (b *builder) keep(r *resident) {
	for i, f := range r.uses {
		t := b.tasks[f.task]
		t.Set(td.L2Src, int(r.at))
		if i == 0 {
			t.Set(td.SrcType, 1)
			b.kept[f.task] = true
			continue
		}
		s := streams[td.RBase0]
		for _, g := range []td.Field{s.row, s.plane, s.depth, s.group, s.base, td.PixelOffset} {
			t.Set(g, 0)
		}
		if t.Get(td.NumGroups) <= 1 {
			t.Set(s.l2g, 0)
		}
		s.off(t)
		if first := b.tasks[r.uses[0].task]; first.Get(td.PlanarType) == 0 && t.Get(td.PlanarType) == 0 {
			t.Set(td.SrcCfgRest, 0x10) // no result of the engine stands there (recorded)
		}
		f.buf = nil // the stream no longer names a buffer
	}
}

// lowest finds the lowest address for n bytes that no live buffer takes. live is
// sorted by address.
func lowest(live []*resident, n int64) int64 {
	at := int64(0)
	for _, l := range live {
		if at+n <= l.at {
			break
		}
		at = max(at, l.at+l.size)
	}
	return at
}

// fitsL2 reports whether every access to the buffer can be made in L2, and
// chooses the row packing.
func (b *builder) fitsL2(r *resident) bool {
	if r.buf.image[0] > 0 {
		return b.imageFitsL2(r)
	}
	r.row, r.pack, r.bare = r.buf.rowBytes, r.buf.rowBytes, r.buf.rowBytes
	if r.row == 0 || r.buf.size > b.t.L2Bytes/2 {
		return false
	}
	packed := align(r.buf.rowElems*elemBytes, granule)
	if r.buf.apart && packed/granule%2 == 0 {
		packed += granule
	}
	bare := align(r.buf.rowElems*elemBytes, granule)
	if packed == bare && bare/granule%2 == 1 && b.planeForPlanar(r) {
		packed += granule
	}
	tight := true
	for _, f := range r.uses {
		s, ok := streams[f.bar]
		if !ok {
			return false
		}
		t := b.tasks[f.task]
		if t.Int(s.inter) > 1 || s.source && t.Get(s.pix) != 0 {
			return false
		}
		tight = tight && f.off%r.row == 0
		for _, st := range []td.Field{s.row, s.plane, s.depth, s.group} {
			tight = tight && int64(t.Get(st))%r.row == 0
		}
	}
	if tight {
		r.pack, r.bare = packed, bare
	}
	r.size = align(r.buf.size/r.row*r.pack, granule)
	return true
}

// planeForPlanar reports whether a buffer is written as rows of one channel that
// the planar engine reads as rows: they are padded as the rows of a source that
// comes by DMA are (env_bcast_mul with 1x1x8x8).
func (b *builder) planeForPlanar(r *resident) bool {
	rows, planar := false, false
	for _, f := range r.uses {
		t := b.tasks[f.task]
		if f.bar == td.WBase {
			if t.Get(td.Cout) != 1 || t.Get(td.Dout) != 1 || t.Get(td.NumGroups) > 1 || t.On(td.SwapNE) || t.On(td.SwapResult) {
				return false
			}
			rows = t.Get(td.Hout) > 1
			continue
		}
		planar = t.Get(td.PlanarType) == peOne || t.Get(td.PlanarType) == peTwo
		if !planar || t.Get(td.Hin) == 1 {
			return false
		}
	}
	return rows && planar
}

// toL2 points one stream of a task at L2.
func (b *builder) toL2(r *resident, f *fixup) {
	s, t := streams[f.bar], b.tasks[f.task]
	if r.buf.image[0] > 0 {
		b.imageToL2(r, f)
		return
	}
	scale := func(n int64) int { return int(n / r.row * r.pack) }
	if r.pack == r.row {
		scale = func(n int64) int { return int(n) }
	}
	limit := int(b.t.L2Bytes - 16)
	stride := func(from td.Field) int { return min(scale(int64(t.Get(from))), limit) }
	t.Set(s.l2, int(r.at)+scale(f.off))
	t.Set(s.l2row, stride(s.row)).Set(s.l2ch, stride(s.plane)).Set(s.l2d, stride(s.depth)).Set(s.l2g, stride(s.group))
	if t.Get(td.NumGroups) <= 1 {
		t.Set(s.l2g, 0)
	}
	single := t.Get(s.extH) == 1 || s.source && t.On(s.spreadH)
	switch pair := f.bar == td.RBase1 && t.Get(td.PlanarType) == pePair; {
	case pair && t.On(s.swap):
		t.Set(s.l2d, t.Int(s.l2row)) // of two rows that lie along the channels
	case single && !pair:
		t.Set(s.l2row, t.Int(s.l2d)) // of a single row
	}
	if (t.Get(s.extC) == 1 || s.source && t.On(s.spreadC)) && !t.On(s.swap) {
		one := t.Int(s.l2row) // of a single channel
		if one == int(r.pack) {
			one = int(r.bare)
		}
		t.Set(s.l2ch, one)
		if t.Get(s.extD) == 1 {
			t.Set(s.l2d, one)
		}
	}
	s.leave(t, r.buf)
}

// leave takes a stream's DMA away: a named buffer stays in the words.
func (s *stream) leave(t *td.Task, buf *buffer) {
	if buf.named {
		s.park(t)
		return
	}
	for _, g := range []td.Field{s.row, s.plane, s.depth, s.group, s.base} {
		t.Set(g, 0)
	}
	s.off(t)
}
