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
	extW, extH, extC, extD    td.Field
	spreadW, spreadH, spreadC td.Field // of a source
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
		inter: td.SrcInterleave, pix: td.PixelOffset, source: true,
		extW: td.Win, extH: td.Hin, extC: td.Cin, extD: td.Din, spreadW: td.Bcast1W, spreadH: td.Bcast1H,
		spreadC: td.Bcast1C, swap: td.Swap1,
		off: func(t *td.Task) {
			t.SetBool(td.SrcEn, false).SetBool(td.SrcLoc, false).Set(td.SrcNoReuse, 8).Set(td.SrcDependency, 0)
			t.Set(td.SrcFmtMode, 0).Set(td.SrcTruncate, 0).Set(td.SrcMemFmt, 0)
			t.Set(td.SrcType, 0)
		},
		park: func(t *td.Task) {
			t.SetBool(td.SrcEn, false).SetBool(td.SrcLoc, false).Set(td.SrcNoReuse, 8).Set(td.SrcDependency, 4)
			t.Set(td.SrcType, 0)
		},
	},
	td.RBase1: {
		bar: td.RBase1, enable: td.RBE1, base: td.Src2Base,
		row: td.Src2Row, plane: td.Src2Plane, depth: td.Src2Depth, group: td.Src2Group,
		l2: td.L2Src2, l2row: td.L2Src2Row, l2ch: td.L2Src2Ch, l2d: td.L2Src2Depth, l2g: td.L2Src2Group,
		inter: td.Src2Interleave, pix: td.PixelOffset.At(1), source: true,
		extW: td.Win, extH: td.Hin, extC: td.Cin, extD: td.Din, spreadW: td.Bcast2W, spreadH: td.Bcast2H,
		spreadC: td.Bcast2C, swap: td.Swap2,
		off: func(t *td.Task) {
			t.SetBool(td.Source2DMA, false).Set(td.Src2NoReuse, 8).Set(td.Src2Dependency, 0).Set(td.Src2Truncate, 0).
				Set(td.Src2MemFmt, 0)
		},
		park: func(t *td.Task) { t.SetBool(td.Source2DMA, false).Set(td.Src2NoReuse, 8).Set(td.Src2Dependency, 0) },
	},
	td.WBase: {
		bar: td.WBase, enable: td.WBE, base: td.DstBase,
		row: td.DstRow, plane: td.DstPlane, depth: td.DstDepth, group: td.DstGroup,
		l2: td.L2Res, l2row: td.L2ResRow, l2ch: td.L2ResCh, l2d: td.L2ResDepth, l2g: td.L2ResGroup,
		inter: td.DstInterleave, extW: td.Wout, extH: td.Hout, extC: td.Cout, extD: td.Dout, swap: td.SwapNE,
		off: func(t *td.Task) {
			t.SetBool(td.DstEn, false).SetBool(td.DstLoc, false).Set(td.DstL2BfrMode, 0)
			t.Set(td.DstFmtMode, 0).Set(td.DstTruncate, 0).Set(td.DstMemFmt, 0).Set(td.DstZeroFirst, 0).
				Set(td.DstZeroLast, 0)
			t.Set(td.ResType, 0).Set(td.ResBfrMode, 0).SetBool(td.TBE, true)
		},
		park: func(t *td.Task) {
			t.SetBool(td.DstEn, false).SetBool(td.DstLoc, false).Set(td.DstL2BfrMode, 0).Set(td.ResType, 0).
				Set(td.ResBfrMode, 0).SetBool(td.TBE, true)
		},
	},
}

// resident is a place in L2 that a buffer, or several in turn, may keep from its
// first task to its last.
type resident struct {
	bufs []*buffer // one, or those that follow each other in one place
	uses []*fixup
	def  int   // first task that touches it
	last int   // last task that touches it
	row  int64 // bytes of DRAM that stand for one row
	pack int64 // bytes of L2 that one row takes
	bare int64 // bytes of L2 that one row fills, without padding
	size int64 // bytes of L2
	at   int64 // L2 address
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
			r = &resident{bufs: []*buffer{f.buf}, def: f.buf.def, last: f.buf.last}
			byBuf[f.buf] = r
			cand = append(cand, r)
		}
		r.uses = append(r.uses, f)
	}
	cand = b.inPlace(cand)
	b.placingOrder(cand)
	b.l2floor = make([]int64, len(b.tasks))
	b.l2live = make([][]*resident, len(b.tasks))
	moved := map[*buffer]bool{}
	for _, r := range cand {
		r.at = lowest(b.aliveWith(r), r.size)
		if !b.settle(r) {
			continue
		}
		read := map[*buffer]bool{}
		for _, f := range r.uses {
			// Of a named buffer only its first reader says the name
			// (chain_branch_d256_s64).
			again := f.bar != td.WBase && read[f.buf]
			read[f.buf] = read[f.buf] || f.bar != td.WBase
			b.toL2(r, f, again)
			switch {
			case again:
				f.buf = nil
			case !f.buf.named:
				moved[f.buf] = true
			}
		}
		b.resident += len(r.bufs)
	}
	// Kept sources come above all that lives meanwhile, like those that pass.
	for _, r := range b.keepSources() {
		for i := r.def; i <= r.last; i++ {
			r.at = max(r.at, b.l2floor[i])
		}
		if b.settle(r) {
			b.keep(r)
		}
	}
	left := b.fixups[:0]
	for _, f := range b.fixups {
		if f.buf != nil && !moved[f.buf] {
			left = append(left, f)
		}
	}
	b.fixups = left
}

// settle records a resident at its address, if every task in its life still has
// the L2 that it takes itself, above the buffers that stay.
func (b *builder) settle(r *resident) bool {
	for i := r.def; i <= r.last; i++ {
		if align(max(b.l2floor[i], r.at+r.size), 64)+b.l2use[i] > b.t.L2Bytes {
			return false
		}
	}
	for i := r.def; i <= r.last; i++ {
		b.l2floor[i] = max(b.l2floor[i], r.at+r.size)
		b.l2live[i] = append(b.l2live[i], r)
	}
	return true
}

// aliveWith returns the settled residents that share a task with r, by address.
func (b *builder) aliveWith(r *resident) []*resident {
	var out []*resident
	seen := map[*resident]bool{}
	for i := r.def; i <= r.last; i++ {
		for _, l := range b.l2live[i] {
			if !seen[l] {
				seen[l] = true
				out = append(out, l)
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].at < out[j].at })
	return out
}

// placingOrder sorts residents as they get their addresses: what reductions give
// first, then by bytes times tasks, the most first (recorded chains).
func (b *builder) placingOrder(cand []*resident) {
	reduced := func(r *resident) bool {
		for _, f := range r.uses {
			if f.bar != td.WBase {
				continue
			}
			t := b.tasks[f.task]
			if t.Int(td.PlanarType) >= peReduce && t.Int(td.Win)*max(t.Int(td.Hin), 1)*max(t.Int(td.Din), 1) == 1 {
				return false // of one element: gives as much as it takes (norm_softmax_a3_1x64x1x1)
			}
			if op := t.Get(td.NEOp); t.Int(td.PlanarType) < peReduce && (t.Get(td.PlanarType) != 0 || op != neMax &&
				(op != neSum || t.On(td.UnicastEn))) {
				return false
			}
		}
		return true
	}
	// A turn reads each number once (reduce_probe_max_ax2).
	spread := func(r *resident) bool {
		for _, f := range r.uses {
			if t := b.tasks[f.task]; f.bar != td.WBase && t.Get(td.PlanarType) == 0 && t.Get(td.NEOp) == neCopy &&
				t.On(td.SwapNE) {
				return false
			}
		}
		return true
	}
	first := make(map[*resident]bool, len(cand))
	for _, r := range cand {
		first[r] = reduced(r) && spread(r)
	}
	sort.SliceStable(cand, func(i, j int) bool {
		x, y := cand[i], cand[j]
		if first[x] != first[y] {
			return first[x]
		}
		if first[x] {
			return x.def < y.def
		}
		wx, wy := x.size*int64(x.last-x.def+1), y.size*int64(y.last-y.def+1)
		if wx != wy {
			return wx > wy
		}
		return x.def < y.def
	})
}

// inPlace drops what cannot stay in L2 and joins buffers that can follow each
// other in one place: the result of an elementwise task takes that of its first
// source when nothing reads the source later and both lie alike (recorded in
// softmax and layer_norm).
func (b *builder) inPlace(cand []*resident) []*resident {
	var out []*resident
	ends := map[int]*resident{} // by task: a resident that ends there as source 1
	for _, r := range cand {    // by first task
		if !b.fitsL2(r) {
			continue
		}
		f := r.uses[0]
		t := b.tasks[r.def]
		if p := ends[r.def]; p != nil && !p.bufs[0].named && f.bar == td.WBase && p.last == r.def && p.row == r.row &&
			p.pack == r.pack && p.size == r.size && p.bufs[0].padEach == r.bufs[0].padEach &&
			p.bufs[0].image == r.bufs[0].image && b.sameLayout(t, p, f) {
			delete(ends, r.def)
			p.bufs = append(p.bufs, r.bufs...)
			p.uses = append(p.uses, r.uses...)
			p.last = r.last
			r = p
		} else {
			out = append(out, r)
		}
		if n := r.uses[len(r.uses)-1]; n.bar == td.RBase0 {
			ends[r.last] = r
		}
	}
	return out
}

// sameLayout reports whether task t is elementwise and its result would lie in L2
// as its source 1 does, which is the resident p.
func (b *builder) sameLayout(t *td.Task, p *resident, f *fixup) bool {
	switch t.Int(td.PlanarType) {
	case 0:
		if t.Get(td.NEOp) != neCopy || t.On(td.SwapNE) {
			return false
		}
	case peOne, peTwo, pePair:
		if t.On(td.SwapResult) != t.On(td.Swap1) || t.On(td.Bcast1W) || t.On(td.Bcast1H) || t.On(td.Bcast1D) ||
			t.On(td.Bcast1C) {
			return false
		}
	default:
		return false
	}
	if t.Int(td.TileHeight) < t.Int(td.Hout) {
		return false
	}
	src := p.uses[len(p.uses)-1]
	if src.off != f.off {
		return false
	}
	for _, pair := range [4][2]td.Field{{td.SrcRow, td.DstRow}, {td.SrcPlane, td.DstPlane}, {td.SrcDepth, td.DstDepth},
		{td.SrcGroup, td.DstGroup}} {
		if t.Get(pair[0]) != t.Get(pair[1]) {
			return false
		}
	}
	// No other use by the same task: a second source is read at other places.
	n := 0
	for _, u := range p.uses {
		if u.task == f.task {
			n++
		}
	}
	return n == 1
}

// placeTransients gives what passes through L2 its place above the buffers that
// stay there meanwhile: the sources that come by DMA, then the result that leaves.
func (b *builder) placeTransients() {
	twice := b.sourceTwice()
	for i, t := range b.tasks {
		base := b.l2floor[i]
		top := base
		if t.On(td.SrcEn) && !b.kept[i] {
			t.Set(td.L2Src, int(top))
			top += b.staged[i][0]
		}
		if t.On(td.Source2DMA) {
			if !twice[i] {
				top = bankApart(base, top)
			}
			t.Set(td.L2Src2, int(top))
			top += b.staged[i][1]
		}
		if t.On(td.DstEn) {
			// A task in step with the one before may not take the place of what that
			// one still fetches (encoder_conv_idx with k1x9).
			if i > 0 && !t.On(td.SrcEn) {
				before := b.footprintOf(i - 1)
				if b.followsClosely(i, b.footprintOf(i), before) {
					top = max(top, before.fetch[0].hi, before.fetch[1].hi)
				}
			}
			t.Set(td.L2Res, int(min(top, b.t.L2Bytes-granule)))
			if b.old {
				b.throughL2(i, top)
			}
		}
	}
}

// sourceTwice tells of each task whether both its sources are one tensor: these
// may begin on neighbouring banks (chain_res_relu).
func (b *builder) sourceTwice() []bool {
	first := make([]*fixup, len(b.tasks))
	twice := make([]bool, len(b.tasks))
	for i := range b.fixups {
		switch f := &b.fixups[i]; f.bar {
		case td.RBase0:
			first[f.task] = f
		case td.RBase1:
			one := first[f.task]
			twice[f.task] = one != nil && one.buf == f.buf && one.off == f.off
		}
	}
	return twice
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
	buf := r.bufs[0]
	if buf.image[0] > 0 {
		return b.imageFitsL2(r)
	}
	if buf.shape[0] > 0 {
		buf.image = buf.shape
		if b.imageFitsL2(r) {
			return true
		}
		buf.image = [3]int64{}
	}
	r.row, r.pack, r.bare = buf.rowBytes, buf.rowBytes, buf.rowBytes
	if r.row == 0 || buf.size > b.t.L2Bytes/2 {
		return false
	}
	packed := align(buf.rowElems*elemBytes, granule)
	if buf.apart && packed/granule%2 == 0 {
		packed += granule
	}
	bare := align(buf.rowElems*elemBytes, granule)
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
		// A row that a reshape has joined goes on where the next row of the buffer
		// begins, so that no padding may stand between them.
		tight = tight && f.off%r.row == 0 && s.columns(t)*elemBytes <= bare
		for _, st := range []td.Field{s.row, s.plane, s.depth, s.group} {
			tight = tight && int64(t.Get(st))%r.row == 0
		}
	}
	if tight {
		r.pack, r.bare = packed, bare
	}
	r.size = align(buf.size/r.row*r.pack+r.padding(buf.size), granule)
	return true
}

// columns is the elements of a row of the stream's tensor as it is stored.
func (s *stream) columns(t *td.Task) int64 {
	window := t.Get(td.Kw)*t.Get(td.Kh)*t.Get(td.Sx)*t.Get(td.Sy) > 1
	kind := t.Int(td.PlanarType)
	w, swap := t.Int(s.extW), t.On(s.swap)
	switch {
	case swap || !s.source && t.On(td.SwapResult):
		w = t.Int(s.extC)
		if s.source && t.On(s.spreadC) {
			w = 1
		}
	case s.source && (t.On(s.spreadW) || s.bar == td.RBase1 && kind == pePair): // a pair of parameters a channel
		w = 1
	case !s.source && kind >= peReduce && !window: // the output registers repeat the input's extents
		w = 1
	case !s.source && kind == 0: // in groups of Ox columns
		w *= max(t.Int(td.Ox), 1)
	}
	return int64(max(w, 1))
}

// padding is what padded rows add to n bytes of the buffer in DRAM.
func (r *resident) padding(n int64) int64 {
	if r.bufs[0].padEach == 0 {
		return 0
	}
	return n / r.row / r.bufs[0].padEach * r.bufs[0].padBytes
}

// planeForPlanar reports whether a buffer is written as rows of one channel that
// the planar engine reads as rows: they are padded as the rows of a source that
// comes by DMA are (env_bcast_mul with 1x1x8x8).
func (b *builder) planeForPlanar(r *resident) bool {
	rows, planar := false, false
	for _, f := range r.uses {
		t := b.tasks[f.task]
		if f.bar == td.WBase {
			if t.Get(td.Cout) != 1 || t.Get(td.Dout) != 1 || t.Get(td.NumGroups) > 1 || t.On(td.SwapNE) ||
				t.On(td.SwapResult) {
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

// toL2 points one stream of a task at L2. again says that an earlier task has read
// the buffer.
func (b *builder) toL2(r *resident, f *fixup, again bool) {
	s, t := streams[f.bar], b.tasks[f.task]
	if f.buf.image[0] > 0 {
		b.imageToL2(r, f, again)
		return
	}
	scale := func(n int64) int { return int(n / r.row * r.pack) }
	if r.pack == r.row {
		scale = func(n int64) int { return int(n) }
	}
	limit := int(b.t.L2Bytes - 16)
	stride := func(from td.Field) int { return min(scale(int64(t.Get(from))), limit) }
	padded := func(n int64) int { return scale(n) + int(r.padding(n)) }
	t.Set(s.l2, int(r.at)+padded(f.off))
	t.Set(s.l2row, min(padded(int64(t.Get(s.row))), limit)).Set(s.l2ch, min(padded(int64(t.Get(s.plane))), limit)).
		Set(s.l2d, stride(s.depth)).Set(s.l2g, min(padded(int64(t.Get(s.group))), limit))
	if t.Get(td.NumGroups) <= 1 {
		t.Set(s.l2g, 0)
	}
	if !f.buf.plain {
		single := t.Get(s.extH) == 1 || s.source && t.On(s.spreadH)
		switch pair := f.bar == td.RBase1 && t.Get(td.PlanarType) == pePair; {
		case pair && t.On(s.swap):
			t.Set(s.l2d, t.Int(s.l2row)) // of two rows that lie along the channels
		case single && !pair:
			t.Set(s.l2row, t.Int(s.l2d)) // of a single row
		}
		if (t.Get(s.extC) == 1 || s.source && t.On(s.spreadC)) && !t.On(s.swap) && !f.buf.apart {
			one := t.Int(s.l2row) // of a single channel
			if one == int(r.pack) {
				one = int(r.bare)
			}
			t.Set(s.l2ch, one)
			if t.Get(s.extD) == 1 {
				t.Set(s.l2d, one)
			}
		}
	}
	s.leave(t, f.buf.named && !again)
}

// leave takes a stream's DMA away: a named buffer stays in the words.
func (s *stream) leave(t *td.Task, named bool) {
	if named {
		s.park(t)
		return
	}
	for _, g := range []td.Field{s.row, s.plane, s.depth, s.group, s.base} {
		t.Set(g, 0)
	}
	s.off(t)
}
