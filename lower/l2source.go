package lower

import "github.com/zinc-compiler/zinc/lower/td"

// keepSources finds sources that come by DMA in several tasks of one operation,
// the same window in the same layout, as source 1 in the first and as either
// source in the others: the first keeps them in L2.
func (b *builder) keepSources() []*resident {
	byTask := map[int]map[td.Field]*fixup{}
	for i := range b.fixups {
		if f := &b.fixups[i]; f.bar == td.RBase0 || f.bar == td.RBase1 {
			if byTask[f.task] == nil {
				byTask[f.task] = map[td.Field]*fixup{}
			}
			byTask[f.task][f.bar] = f
		}
	}
	var out []*resident
	var cur *resident
	for i, t := range b.tasks {
		one, two := byTask[i][td.RBase0], byTask[i][td.RBase1]
		live := func(f *fixup, dma, swap td.Field) bool {
			return f != nil && t.On(dma) && !t.On(swap) && f.buf.space != scratch
		}
		// All of the source must stand in L2 at once.
		whole := t.Int(td.TileHeight) >= t.Int(td.Hout) && t.Int(td.L2SrcCh) >= t.Int(td.Win)*elemBytes &&
			t.Get(td.NumGroups) <= 1
		first := live(one, td.SrcEn, td.Swap1)
		again := false
		if cur != nil && b.infos[cur.def].Op == b.infos[i].Op {
			for _, f := range []*fixup{one, two} {
				if f == nil || f == two && !live(two, td.Source2DMA, td.Swap2) || f == one && !(first && whole) {
					continue
				}
				if sameWindow(b.tasks[cur.def], t, cur.uses[0], f) {
					again = true
					cur.uses = append(cur.uses, f)
					cur.last = i
					if len(cur.uses) == 2 {
						out = append(out, cur)
					}
				}
			}
		}
		switch {
		case again:
		case !first || !whole:
			cur = nil
		default:
			cur = &resident{def: i, last: i, uses: []*fixup{one}, size: align(b.l2use[i], granule)}
			if !t.On(td.Source2DMA) {
				cur.size = b.staged[i][0]
			}
		}
	}
	return out
}

// windowFields are the fields of source 1, and with them those of source 2, of
// which two tasks that read a source alike agree.
var windowFields = [][2]td.Field{
	{td.Win, td.Win}, {td.Hin, td.Hin}, {td.Din, td.Din}, {td.Cin, td.Cin}, {td.NumGroups, td.NumGroups},
	{td.SrcRow, td.Src2Row}, {td.SrcPlane, td.Src2Plane}, {td.SrcDepth, td.Src2Depth}, {td.SrcGroup, td.Src2Group},
	{td.PixelOffset, td.PixelOffset.At(1)}, {td.Swap1, td.Swap2},
	{td.Bcast1W, td.Bcast2W}, {td.Bcast1H, td.Bcast2H}, {td.Bcast1D, td.Bcast2D}, {td.Bcast1C, td.Bcast2C},
	{td.L2SrcCh, td.L2Src2Ch}, {td.L2SrcRow, td.L2Src2Row}, {td.L2SrcDepth, td.L2Src2Depth},
	{td.L2SrcGroup, td.L2Src2Group},
}

// sameWindow reports whether task b reads by fb, as either source, what task a
// reads by fa as source 1.
func sameWindow(a, b *td.Task, fa, fb *fixup) bool {
	if fa.buf != fb.buf || fa.off != fb.off {
		return false
	}
	second := 0
	if fb.bar == td.RBase1 {
		second = 1
	}
	// A single row lies alike for both engines but for its padding.
	single := a.Get(td.Hin) == 1 && a.Get(td.Din) == 1
	// A maximum over the channels lays an image as the planar engine reads it.
	across := a.Get(td.PlanarType) == 0 && a.Get(td.NEOp) == neMax && b.Get(td.PlanarType) == peTwo &&
		a.Get(td.Din) == 1
	for i, f := range windowFields {
		if a.Get(f[0]) != b.Get(f[second]) && !((single || across) && i >= len(windowFields)-3) {
			return false
		}
	}
	inter := [2]int{b.Int(td.SrcInterleave), max(b.Int(td.Src2Interleave), 1)}[second]
	return a.Int(td.SrcInterleave) == inter &&
		(single || across || (a.Get(td.PlanarType) == 0) == (b.Get(td.PlanarType) == 0))
}

// keep points the tasks of a kept source at its place. A reduction that keeps its
// source takes it a patch at a time (norm_layer_norm_ax1_2_3).
func (b *builder) keep(r *resident) {
	for i, f := range r.uses {
		t := b.tasks[f.task]
		s := streams[f.bar]
		t.Set(s.l2, int(r.at))
		if i == 0 {
			t.Set(td.SrcType, 1)
			if t.Get(td.PlanarType) == peReduce {
				t.Set(td.TileHeight, min(t.Int(td.TileHeight), 1<<t.Int(td.PatchHeight)))
			}
			b.kept[f.task] = true
			continue
		}
		first := b.tasks[r.def]
		if first.Get(td.Hin) > 1 && (first.Get(td.PlanarType) == 0) != (t.Get(td.PlanarType) == 0) {
			b.layAcross(first, t, s)
		}
		t.Set(s.l2row, first.Int(td.L2SrcRow)).Set(s.l2d, first.Int(td.L2SrcDepth)).Set(s.l2g, first.Int(td.L2SrcGroup))
		for _, g := range []td.Field{s.row, s.plane, s.depth, s.group, s.base, s.pix} {
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

// layAcross gives a neural task's source, which it keeps for a planar one, the rows
// of that one, and its units those of tasks in step (norm_softmax_a1_1x64x8x8).
func (b *builder) layAcross(first, t *td.Task, s stream) {
	first.Set(td.L2SrcRow, t.Int(s.l2row)).Set(td.L2SrcDepth, t.Int(s.l2d)).Set(td.L2SrcGroup, t.Int(s.l2g))
	stepUnits(first, 0)
}
