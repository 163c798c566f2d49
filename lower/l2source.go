package lower

import (
	"slices"

	"github.com/zinc-compiler/zinc/lower/td"
)

// keepSources keeps in L2 a source that comes by DMA in several tasks of one operation, or in those of a residual, with
// the same window in the same layout, after the first of them has fetched it. Its place is above everything that is
// live meanwhile, like that of data which passes through.
func (c *schedule) keepSources() {
	taken := newOccupancy(c.drafts)
	for _, r := range c.fetchedAgain() {
		if c.inSlices(r) {
			continue
		}
		r.after = c.neededAfter(r)
		for i := r.def; i <= r.end(); i++ {
			r.at = max(r.at, taken.floor(i))
		}
		if c.hasRoom(taken, r) {
			taken.add(r)
			keep(r)
		}
	}
	taken.setFloors()
}

// inSlices reports whether r is what a reduction fetches, and other tasks of its operation fetch other rows of the same
// tensor (case chain_lnproj_d512_s256).
func (c *schedule) inSlices(r *resident) bool {
	first := &r.uses[0]
	if first.d.kind() != td.PlanarReduce {
		return false
	}
	// The tasks of an operation follow one another.
	from, to := first.task, first.task+1
	for from > 0 && c.drafts[from-1].op == first.d.op {
		from--
	}
	for to < len(c.drafts) && c.drafts[to].op == first.d.op {
		to++
	}
	return slices.ContainsFunc(c.drafts[from:to], func(d *draft) bool {
		o := &d.src[0]
		return o.where == byDMA && o.buf == first.o.buf && o.apartFrom(first.o)
	})
}

// fetchedAgain finds the sources that several tasks fetch: source 1 of the first task, and either source of the others.
func (c *schedule) fetchedAgain() []*resident {
	var out []*resident
	var cur *resident
	for i, d := range c.drafts {
		fetched := func(o *operand) bool { return o.where == byDMA && !o.swap && o.buf.space != scratch }
		one, two := &d.src[0], &d.src[1]
		// The whole source must be in L2 at once.
		whole := d.tile >= d.dst.ext[axH] && d.groups() <= 1
		first := fetched(one) && whole && (!one.inPieces() || d.passesRows())
		again := false
		if cur != nil && cur.joins(d) {
			for _, u := range []use{{task: i, role: source1, d: d, o: one}, {task: i, role: source2, d: d, o: two}} {
				if u.role == source1 && !(fetched(one) && whole) || u.role == source2 && !(d.two && fetched(two)) ||
					!sameWindow(&cur.uses[0], &u) {
					continue
				}
				again = true
				cur.uses = append(cur.uses, u)
				cur.last = i
				if residual(cur.uses[0].d, d) && u.o.ext[axH] > 1 { // in the planar engine's layout, see layAcross
					cur.size = u.o.staged // a single row is in the neural engine's (case chain_res_silu_d1024)
				}
				if len(cur.uses) == 2 {
					out = append(out, cur)
				}
			}
		}
		switch {
		case again:
		case !first && one.buf.space == scratch: // the tasks between may read the results of others
		case !first:
			cur = nil
		default:
			cur = &resident{def: i, last: i, uses: []use{{task: i, role: source1, d: d, o: one}}, size: one.staged}
			switch {
			case d.fetchesSecond():
				cur.size = align(d.reach, c.t.L2Granule)
			case d.passesRows():
				cur.size = d.wholeRow() * one.ext[axC] * one.ext[axH]
			}
		}
	}
	return out
}

// inPieces reports whether a source that comes by DMA has less than a whole row of a channel in L2, or is of bytes:
// those stay for others only where a pass reads wide rows of them.
func (o *operand) inPieces() bool { return o.l2.stride[axC] < o.ext[axW]*elemBytes }

// passesRows reports whether a pass reads an image whose rows are wider than a work unit. It keeps them as a whole
// (case candidate_select_rrb_1x1024x375_bcast_cond, case select_rrb_1x8x375x375).
func (d *draft) passesRows() bool {
	o := &d.src[0]
	return d.does(td.NEPass) && !d.two && o.ext[axD] == 1 && o.ext[axW] > d.unitColumns()
}

// wholeRow is the number of bytes of L2 of a channel of such a row.
func (d *draft) wholeRow() int64 {
	o := &d.src[0]
	return align(o.ext[axW]*o.buf.elemBytes(), d.t.L2Granule)
}

// joins reports whether d may read what r keeps: a task of the operation that fetched it, or of its residual. If both
// do, each lays it out for itself.
func (r *resident) joins(d *draft) bool {
	first, last := r.uses[0].d, r.uses[len(r.uses)-1].d
	if d.op == first.op {
		return last.op == first.op
	}
	return residual(first, d) && (last == first || last.op != first.op)
}

// residual reports whether a is an activation by a table, or transposes for a product, and b an operation on two
// sources, as where a block adds its input to what it computed from it (case env_chain_residual_silu_1x64x8x8,
// case chain_pair_add_ln_d256_s64).
func residual(a, b *draft) bool {
	return a.op != b.op && a.does(td.NEPass) && (a.ne.act != td.NonlinNone || a.dst.swap) && b.kind() == td.PlanarTwo
}

// sameWindow reports whether u, which may be either source of a task, is what the task of first reads as source 1, in
// the layout that it has in L2 there.
func sameWindow(first, u *use) bool {
	a, b, x, y := first.d, u.d, first.o, u.o
	in, also := a.src[0].ext, b.src[0].ext
	// A task that fetches its rows in pieces can read what another task keeps only if each channel has a single row,
	// since the two lay out several rows at different distances. passesRows is the exception: it reads whole rows.
	single := in[axH] == 1 && in[axD] == 1
	if y.inPieces() && !single && !b.passesRows() {
		return false
	}
	piece := single && (y.inPieces() || x.inPieces() && a.passesRows())
	if x.buf != y.buf || x.off != y.off || in != also || x.pix != y.pix || x.swap != y.swap ||
		max(x.inter, 1) != max(y.inter, 1) || x.l2.stride[axC] != y.l2.stride[axC] && !piece {
		return false
	}
	for _, ax := range [...]int{axH, axC, axD, axG} {
		if x.stride[ax] != y.stride[ax] && in[ax] > 1 {
			return false
		}
	}
	for _, ax := range [...]int{axW, axH, axD, axC} {
		if x.broadcast[ax] != y.broadcast[ax] {
			return false
		}
	}
	// A single row has the same layout for both engines except for its padding, and a maximum over the channels lays
	// out an image as the planar engine reads it.
	across := (a.does(td.NEMax) || a.copies() && a.dst.swap) && b.kind() == td.PlanarTwo || residual(a, b)
	across = across && in[axD] == 1
	return single || across || x.l2.stride == y.l2.stride && (a.pe == nil) == (b.pe == nil)
}

// keep points the tasks of a kept source at its place. A reduction that keeps its source reads it one patch at a time
// (case norm_layer_norm_ax1_2_3_1x64x8x8).
func keep(r *resident) {
	first, src := r.uses[0].d, r.uses[0].o
	src.l2.base, first.keeps = r.at, true
	wide := first.passesRows()
	if wide {
		ch := first.wholeRow()
		row := ch * src.ext[axC]
		src.l2.stride = [4]int64{row, row, ch, row}
	}
	if first.kind() == td.PlanarReduce {
		first.tile = min(first.tile, 1<<first.patch[1])
	}
	for _, u := range r.uses[1:] {
		u.d.unitsFromL2()
		if src.ext[axH] > 1 && (first.pe == nil) != (u.d.pe == nil) {
			layAcross(first, u.o)
		}
		u.d.takesKept, u.d.keptBy = u.d.takesKept || u.role == source1, first
		channel := u.o.l2.stride[axC]
		if u.o.inPieces() { // it came by itself in pieces, but reads whole rows now (case chain_lnproj_d768_s64)
			channel = src.l2.stride[axC]
		}
		u.o.where, u.o.l2 = inL2, src.l2
		if !wide {
			u.o.l2.stride[axC] = channel
		}
		if u.d.groups() <= 1 {
			u.o.l2.stride[axG] = 0
		}
	}
}

// unitsFromL2 sets the unit shift of a convolution whose source has stayed in L2: a long sum has its largest shift,
// however few outputs use the source (432 uses in case conv_probe_k3_c256_n256_s32_st2_g1_bias0_same).
func (d *draft) unitsFromL2() {
	if s := d.shift.max; d.does(td.NEMultiply) && !d.ne.unicast && s > 1 && d.dst.ext[axH] > 1 &&
		d.src[0].ext[axC]*d.window.kw*d.window.kh >= longSum {
		d.shift.min, d.shift.pref = s, s
	}
}

// layAcross lays out a source that a neural task keeps for a planar one: its rows are as the planar task needs them,
// and the neural task has the units of tasks that overlap (case norm_softmax_a1_1x64x8x8). A pass that exchanges
// channels and columns has them too, whatever it would take without the planar task. On h14 they have no more than
// twice its rows (softmax over channels of 32x4x4, layer_norm over channels of 32x4x4, 64x8x8 and 128x16x16).
func layAcross(first *draft, o *operand) {
	p := &first.src[0].l2
	p.stride[axH], p.stride[axD], p.stride[axG] = o.l2.stride[axH], o.l2.stride[axD], o.l2.stride[axG]
	if first.dst.swap {
		first.shift.max, first.shift.min, first.shift.pref = 0, 0, 0
	}
	first.pipelinedUnits(0)
	if most := log2up(2 * first.dst.ext[axH]); first.t.FoldsPasses && first.shift.max > most {
		first.shift.max, first.shift.min, first.shift.pref = most, most, most
	}
}

// transposesUnits reports whether a pass exchanges channels and columns of an image that takes several work units. It
// goes through all units of some channels before the next channels, so that it does not overlap a planar task before it
// (layer_norm over channels of 128x16x16 on h14; not of 64x8x8).
func (d *draft) transposesUnits() bool {
	in := d.src[0].ext
	return d.does(td.NEPass) && d.dst.swap && in[axH] > 1 && in[axH]*in[axW] > d.t.WorkUnit
}
