package lower

import (
	"sort"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// resident is a place in L2 that one buffer, or several in turn, may keep from first task to last.
type resident struct {
	bufs []*buffer // one, or those that follow each other in one place
	uses []use
	room struct { // of most, which are written once and read once or twice
		buf  [1]*buffer
		uses [2]use
	}
	def  int // first task that touches it
	last int // last task that touches it
	// after is the number of tasks after the last during which it is needed: a task that overlaps its last reader
	// writes while that one reads.
	after int
	row   int64 // bytes of DRAM that correspond to one row
	pack  int64 // bytes of L2 that one row takes
	bare  int64 // bytes of L2 of one row without padding
	size  int64 // bytes of L2
	at    int64 // L2 address

	// Set once it has its place.
	seq  int       // in the order in which residents were placed
	next *resident // one that was placed before it and begins with the same task
}

// end is the last task during which the resident is needed.
func (r *resident) end() int { return r.last + r.after }

// keepInL2 moves scratch buffers that fit beside the tasks' own needs into L2, so that they never travel to DRAM. A
// buffer keeps its row-major order; only the padding of its rows shrinks from 64 to 16 bytes if every access starts on
// a row.
func (c *schedule) keepInL2() {
	var cand []*resident
	byBuf := make(map[*buffer]*resident, len(c.drafts))
	for u := range c.uses() {
		buf := u.buf()
		if buf.space != scratch {
			continue
		}
		r := byBuf[buf]
		if r == nil {
			r = &resident{def: buf.def, last: buf.last}
			r.bufs, r.uses = append(r.room.buf[:0], buf), r.room.uses[:0]
			byBuf[buf] = r
			cand = append(cand, r)
		}
		r.uses = append(r.uses, u)
	}
	cand = c.inPlace(cand)
	for _, r := range cand {
		r.after = c.neededAfter(r)
	}
	reductions := c.placingOrder(cand)
	// Address of what is no result of a reduction (case chain_block_d512_s128_proj1). Results of pooling, which are as
	// large as images, would leave other images no room; no record shows them beside others.
	least := int64(0)
	taken := newOccupancy(c.drafts)
	for i, r := range cand {
		r.at = place(c.t, r, taken.aliveWith(r), either(i < reductions, 0, least))
		if !c.hasRoom(taken, r) {
			continue
		}
		taken.add(r)
		if i < reductions && r.writer().window.alone() {
			least = max(least, r.at+r.size)
		}
		var read map[*buffer]bool // of those that are backed
		for i := range r.uses {
			u := &r.uses[i]
			c.toL2(r, u)
			u.o.where = inL2
			if !u.o.buf.backed {
				continue
			}
			// Only the first reader of a backed buffer names it (case chain_branch_d256_s64).
			if u.role == result || !read[u.o.buf] {
				u.o.where = named
				if u.d.extents(u.role)[axH] == 1 {
					u.o.stride[axH] = u.o.stride[axC] // of a single row (case chain_pair_ln_ln_d256_s64)
				}
			}
			if u.role != result {
				if read == nil {
					read = map[*buffer]bool{}
				}
				read[u.o.buf] = true
			}
		}
		c.resident += len(r.bufs)
	}
	taken.setFloors()
}

// readWith reports whether a planar task reads both residents and both are column vectors along a row, or with a row
// for each element (case norm_softmax_a3_1x512x1x1, case floor_r_1; two matrices may begin on one bank,
// case chain_branch_d256_s64).
func (r *resident) readWith(o *resident) bool {
	a, b := r.bufs[0], o.bufs[0]
	along, ones := a.layout == columnAlongRow && b.layout == columnAlongRow, a.rowsOfOne() && b.rowsOfOne()
	alike := along || ones && a.size == b.size
	if !alike && !r.inStrips() {
		return false
	}
	from := max(r.def, o.def)
	us, vs := r.usesFrom(from), o.usesFrom(from)
	for len(us) > 0 && len(vs) > 0 {
		switch u := &us[0]; {
		case u.task < vs[0].task:
			us = us[1:]
		case u.task > vs[0].task:
			vs = vs[1:]
		default:
			for i := 0; i < len(vs) && vs[i].task == u.task; i++ {
				if v := &vs[i]; u.role != v.role && u.role != result && v.role != result && u.d.kind() == td.PlanarTwo {
					return alike || u.d.inStrips()
				}
			}
			us = us[1:]
		}
	}
	return false
}

// inStrips reports whether the last task that touches the resident works on strips.
func (r *resident) inStrips() bool {
	d := r.uses[len(r.uses)-1].d
	return d.pe != nil && d.inStrips()
}

// usesFrom returns the uses by a task and those after it. They are in the order of the tasks.
func (r *resident) usesFrom(task int) []use {
	i := sort.Search(len(r.uses), func(i int) bool { return r.uses[i].task >= task })
	return r.uses[i:]
}

// neededAfter returns the number of tasks after the last during which the resident is needed. If a planar task reads it
// last, a pass over that task's result, which overlaps it, may not write to the same place
// (case norm_softmax_a3_1x8x128x128).
func (c *schedule) neededAfter(r *resident) int {
	if i := r.last; i+1 < len(c.drafts) {
		d, next := c.drafts[i], c.drafts[i+1]
		if b := d.dst.buf; d.pe != nil && !d.reduces() && !b.backed && next.does(td.NEPass) &&
			!next.transposesUnits() && next.src[0].buf == b && next.dst.buf.space == scratch {
			return 1
		}
	}
	return 0
}

// hasRoom reports whether every task in the life of a resident has enough L2 for itself above the buffers that stay.
func (c *schedule) hasRoom(taken *occupancy, r *resident) bool {
	top := r.at + r.size
	if len(r.bufs) != 1 || r.bufs[0].layout != largeMatrix {
		return taken.fits(r.def, r.end(), top, c.t.L2Bytes)
	}
	for i := r.def; i <= r.end(); i++ {
		d := c.drafts[i]
		reach := d.reach
		if d.src[0].buf == r.bufs[0] && !d.two && !d.gather {
			reach = 0 // what it reads is the resident
		}
		if align(max(taken.floor(i), top), 64)+reach > c.t.L2Bytes {
			return false
		}
	}
	return true
}

// placingOrder sorts residents into the order in which they get addresses: results of reductions and masks
// (case candidate_select_rrb_1x1024x375_bcast_cond) first, then by bytes times tasks, largest first (recorded chains).
// It returns the number of those that come first.
func (c *schedule) placingOrder(cand []*resident) (reductions int) {
	reduced := func(r *resident) bool {
		for _, u := range r.uses {
			if u.role != result {
				continue
			}
			in := u.d.src[0].ext
			switch d := u.d; {
			case d.reduces() && in[axW]*max(in[axH], 1)*max(in[axD], 1) == 1, d.does(td.NESum) && in[axC] == 1:
				// Of one element: its result is as large as its source (case norm_softmax_a3_1x64x1x1,
				// case norm_softmax_a1_1x1x1x128).
				return false
			case !d.reduces() && !d.does(td.NEMax) && (!d.does(td.NESum) || d.ne.unicast):
				return false
			}
		}
		return true
	}
	// A task that exchanges channels and width reads each number once (case reduce_probe_max_ax2_1x64x8x8).
	broadcast := func(r *resident) bool {
		for _, u := range r.uses {
			if u.role != result && u.d.does(td.NEPass) && u.d.dst.swap {
				return false
			}
		}
		return true
	}
	first := make(map[*resident]bool, len(cand))
	for _, r := range cand {
		if first[r] = r.bufs[0].mask || reduced(r) && broadcast(r) && r.bufs[0].layout != numberPerRow; first[r] {
			reductions++
		}
	}
	sort.SliceStable(cand, func(i, j int) bool {
		x, y := cand[i], cand[j]
		if first[x] != first[y] {
			return first[x]
		}
		if first[x] {
			return x.def < y.def
		}
		wx, wy := x.weight(c.t), y.weight(c.t)
		if wx != wy {
			return wx > wy
		}
		px, py := x.writer().pe != nil, y.writer().pe != nil
		if x.bufs[0].asRows() && y.bufs[0].asRows() && (px || py) {
			return x.def > y.def // case norm_layer_norm_ax3_1x64x8x8
		}
		if px != py && !x.writer().writesRows() && !y.writer().writesRows() {
			// What the neural engine writes comes before channels that the planar engine writes
			// (case chain_lnproj_d768_s64), not before rows of one channel (case chain_pair_softmax_mm_d256_s64).
			return py
		}
		return x.def < y.def
	})
	return reductions
}

// writer is the last task that writes to the resident.
func (r *resident) writer() *draft {
	for i := len(r.uses) - 1; i >= 0; i-- {
		if u := &r.uses[i]; u.role == result {
			return u.d
		}
	}
	return r.uses[0].d
}

// weight is bytes times tasks, without the padding of rows that are apart (case chain_pair_gelu_mm_d256_s64). A column
// vector along a row that the neural engine writes counts as with a row for each element (case select_rrb_1x64x1x1).
func (r *resident) weight(t *target.Table) int64 {
	n := r.size
	if buf := r.bufs[0]; buf.spacing == rowsApart && buf.asImage() == nil {
		n = buf.size / r.row * r.bare
	}
	if buf := r.bufs[0]; buf.layout == columnAlongRow && r.uses[0].d.pe == nil {
		n *= t.L2Granule / elemBytes
	}
	if buf := r.bufs[0]; buf.asRows() { // what follows in its place does not count (case env_chain_softmax_h1_s64)
		return n * int64(buf.last-buf.def+1+r.after)
	}
	return n * int64(r.last-r.def+1)
}

// inPlace drops what cannot stay in L2 and joins buffers that can follow each other in one place: the result of an
// elementwise task takes the place of its first source if nothing reads the source later and both have the same layout
// (recorded in softmax and layer_norm), else that of its second (case chain_block_d512_s128_proj1,
// case chain_pair_add_ln_d256_s64). Rows that would be apart then are not.
func (c *schedule) inPlace(cand []*resident) []*resident {
	var out []*resident
	ends := map[int][2]*resident{} // by task: the residents that end there as source 1 and 2
	for _, r := range cand {       // by first task
		if !c.fitsL2(r) {
			continue
		}
		joined := false
		for _, p := range ends[r.def] {
			if p != nil && c.joins(p, r) {
				delete(ends, r.def)
				p.bufs = append(p.bufs, r.bufs...)
				p.uses = append(p.uses, r.uses...)
				p.last = r.last
				r, joined = p, true
				break
			}
		}
		if !joined {
			out = append(out, r)
		}
		if n := r.uses[len(r.uses)-1]; n.role != result {
			e := ends[r.last]
			e[either(n.role == source1, 0, 1)] = r
			ends[r.last] = e
		}
	}
	return out
}

// loaded reports whether the resident is the copy of an input as an image, which later tasks read.
func (r *resident) loaded() bool {
	d := r.uses[0].d
	return r.bufs[0].asRows() && d.copies() && d.src[0].buf.space == inPort
}

// joins reports whether r, which a task writes while it reads p for the last time, can take the place of p.
func (c *schedule) joins(p, r *resident) bool {
	u, buf := &r.uses[0], p.bufs[0]
	if u.role != result || p.last != r.def || buf.backed || p.loaded() || buf.group != r.bufs[0].group ||
		!buf.asImage().same(r.bufs[0].asImage()) || !sameLayout(p, u) {
		return false
	}
	if buf.spacing != 0 && r.bufs[0].spacing == 0 && p.pack != r.pack {
		close := *p
		b := *buf
		b.spacing, close.bufs = rowsRejoined, []*buffer{&b}
		if !c.fitsL2(&close) || close.pack != r.pack {
			return false
		}
		buf.spacing, r.bufs[0].spacing = rowsRejoined, rowsRejoined
		p.pack, p.bare, p.size = close.pack, close.bare, close.size
	}
	return p.row == r.row && p.pack == r.pack && p.size == r.size
}

// sameLayout reports whether the task of u is elementwise and its result, which is u, would have the layout in L2 of
// its source that is the resident p.
func sameLayout(p *resident, u *use) bool {
	d := u.d
	src := p.uses[len(p.uses)-1]
	s := src.o
	switch d.kind() {
	case td.NotPlanar:
		// A pass after a planar task (softmax; not after another pass, case floor_r_1x512x1x1).
		if !d.does(td.NEPass) || d.dst.swap || p.writer().pe == nil {
			return false
		}
	case td.PlanarOne, td.PlanarTwo, td.PlanarPair:
		if d.dst.swap != s.swap || s.broadcast[axW] || s.broadcast[axH] || s.broadcast[axD] || s.broadcast[axC] {
			return false
		}
	default:
		return false
	}
	switch {
	case src.role == source2:
		if d.kind() != td.PlanarTwo || p.bufs[0].layout == columnAlongRow || p.bufs[0].rowsOfOne() {
			return false // public records of a quotient before floor, of one element and of columns
		}
	case d.two && d.src[1].buf.space != scratch:
		return false // recorded with both sources in L2
	}
	if d.tile < d.dst.ext[axH] || s.off != u.o.off || s.stride != d.dst.stride {
		return false
	}
	// No other use by the same task: a second source is read at different places.
	return len(p.usesFrom(u.task)) == 1
}

// placeTransients places what passes through L2 above the buffers that stay there meanwhile: the sources that come by
// DMA, then the result that leaves.
func (c *schedule) placeTransients() {
	for i, d := range c.drafts {
		top := d.floor
		one, two := &d.src[0], &d.src[1]
		if one.where == byDMA && !d.keeps {
			if d.two && two.where == inL2 && two.buf.rowsOfOne() && d.dst.ext[axW] == 1 {
				top = bankApart(c.t, two.l2.base, top) // as in place
			}
			one.l2.base = top
			top += one.staged
		}
		if d.fetchesSecond() {
			// Sources that are the same tensor may begin on adjacent banks (case chain_res_relu_d256).
			if !d.fetchesPart() && (one.where == inL2 || one.buf != two.buf || one.off != two.off) {
				top = bankApart(c.t, d.floor, top)
			}
			two.l2.base = top
			top += two.staged
		}
		if d.dst.where == byDMA {
			// A task that overlaps the previous one may not take the place of what that task is still fetching
			// (case encoder_conv_idx_c1024_n1024_k1x9_s1_g1024_bias1_same_wmaj) or reading (case floor_r_1).
			if i > 0 && one.where != byDMA {
				f, before := d.footprint(), c.drafts[i-1].footprint()
				if c.overlaps(i, &f, &before) {
					for _, from := range before.sources() {
						top = max(top, from.hi)
					}
				}
			}
			d.dst.l2.base = min(top, c.t.L2Bytes-c.t.L2Granule)
			if c.codec.Older {
				c.throughL2(d, top)
			}
		}
	}
}

// place finds the lowest address from least on for r that no live buffer takes. A column vector along a row that a
// planar task reads together with another one is placed on other banks (case floor_r_1x512x1x1).
func place(t *target.Table, r *resident, live []*resident, least int64) int64 {
	at := lowest(live, r.size, least)
	if r.bufs[0].layout != columnAlongRow && !r.bufs[0].rowsOfOne() && !r.inStrips() {
		return at // no bank matters
	}
	for _, l := range live {
		if !l.readWith(r) {
			continue
		}
		if gap := bankApart(t, l.at, at) - at; gap > 0 {
			at = lowest(live, r.size+gap, least) + gap
		}
	}
	return at
}

// lowest finds the lowest address from at on for n bytes that no live buffer takes. live is sorted by address.
func lowest(live []*resident, n, at int64) int64 {
	for _, l := range live {
		if at+n <= l.at {
			break
		}
		at = max(at, l.at+l.size)
	}
	return at
}

// pairPad is the padding of each of two rows of parameters: rows begin on different banks, also if one reads both at
// half of them (case binary_add_c512_constant_blob, public records with 256 and 1024 channels; not with 64).
func pairPad(t *target.Table, row int64) int64 {
	switch n := row / t.L2Granule; {
	case n%t.L2Banks == 0:
		return 2 * t.L2Granule
	case n%(t.L2Banks/2) == 0:
		return t.L2Granule
	}
	return 0
}

// fitsL2 reports whether every access to the buffer can be made in L2, and chooses the row packing.
func (c *schedule) fitsL2(r *resident) bool {
	buf := r.bufs[0]
	if m := buf.image; m != nil {
		m.chosen = true // as long as it is tried
		m.chosen = m.fits(r, c.t)
		if m.chosen || !m.optional {
			return m.chosen
		}
	}
	r.row, r.pack, r.bare = buf.rowBytes, buf.rowBytes, buf.rowBytes
	if r.row == 0 || buf.size > c.t.L2Bytes/2 && !buf.layout.stacked() && buf.layout != largeMatrix {
		return false
	}
	bare := buf.packedRow(c.t)
	packed := bare
	if buf.spacing == rowsApart && packed/c.t.L2Granule%2 == 0 {
		packed += c.t.L2Granule
	}
	if packed == bare && planeForPlanar(r) {
		packed += bare / c.t.L2Granule % 2 * c.t.L2Granule
		if w := r.writer(); w.does(td.NESum) { // softmax over channels of 32x4x4 on h14
			packed = max(packed, c.t.WorkUnit>>w.shift.max*elemBytes)
		}
	}
	if buf.layout == pairOfRows {
		packed += pairPad(c.t, packed)
	}
	tight := true
	for _, u := range r.uses {
		if u.o == nil || u.o.inter > 1 || u.role != result && u.o.pix != 0 {
			return false
		}
		// If a reshape has joined rows, a row continues where the next row of the buffer begins, so there must be no
		// padding between them.
		tight = tight && u.o.off%r.row == 0 && u.d.columns(u.role)*elemBytes <= bare
		for _, st := range u.o.stride {
			tight = tight && st%r.row == 0
		}
	}
	if tight {
		r.pack, r.bare = packed, bare
	}
	r.size = align(buf.size/r.row*(r.pack+buf.lineGap(c.t))+r.padding(c.t, buf.size), c.t.L2Granule)
	return true
}

// padding is the number of bytes that padded rows add to n bytes of the buffer in DRAM.
func (r *resident) padding(t *target.Table, n int64) int64 {
	buf := r.bufs[0]
	if buf.group == 0 {
		return 0
	}
	return n / r.row / buf.group * buf.groupPad(t)
}

// planeForPlanar reports whether a buffer is written as rows of one channel that the planar engine reads as rows. Such
// rows are padded like the rows of a source that comes by DMA (case env_bcast_mul_1x64x8x8_runtime_1x1x8x8), and the
// rows of a sum over channels to the columns of its work units.
func planeForPlanar(r *resident) bool {
	rows, planar := false, false
	for _, u := range r.uses {
		if u.role == result {
			out := u.d.dst.ext
			if out[axC] != 1 || out[axD] != 1 || u.d.groups() > 1 || u.o.swap {
				return false
			}
			rows = out[axH] > 1 && !strips(out[axW], out[axH])
			continue
		}
		planar = u.d.kind() == td.PlanarOne || u.d.kind() == td.PlanarTwo
		if !planar || u.d.src[0].ext[axH] == 1 {
			return false
		}
	}
	return rows && planar
}

// toL2 places one tensor of a task in the resident that replaces its buffer.
func (c *schedule) toL2(r *resident, u *use) {
	o, d := u.o, u.d
	if m := o.buf.asImage(); m != nil {
		m.place(r, o)
		return
	}
	scale := func(n int64) int64 {
		if r.pack == r.row {
			return n
		}
		return n / r.row * r.pack
	}
	limit := c.t.L2Bytes - c.t.L2Granule
	padded := func(n int64) int64 { return scale(n) + r.padding(c.t, n) }
	p := &o.l2
	if gap := o.buf.lineGap(c.t); gap > 0 {
		line := o.off / r.row
		p.base = r.at + line*(r.pack+gap) + o.off - line*r.row
		p.stride = [4]int64{axD: r.pack, axC: r.pack, axH: r.pack + gap}
		return
	}
	p.base = r.at + padded(o.off)
	for _, ax := range [...]int{axG, axC, axH} {
		p.stride[ax] = min(padded(o.stride[ax]), limit)
	}
	p.stride[axD] = min(scale(o.stride[either(o.buf.layout.stacked(), axH, axD)]), limit)
	if d.groups() <= 1 {
		p.stride[axG] = 0
	}
	if o.buf.layout.wholeStrides() {
		return
	}
	ext := d.extents(u.role)
	swapped := o.swap && (u.role != result || d.ne != nil) // a planar result keeps its strides
	switch pair := u.role == source2 && d.kind() == td.PlanarPair; {
	case pair && o.buf.layout == pairOfRows:
		p.stride[axC], p.stride[axD] = r.bare, r.bare
	case pair && swapped:
		p.stride[axD] = p.stride[axH] // of two rows along the channels
	case (ext[axH] == 1 || o.broadcast[axH]) && !pair && !o.buf.layout.stacked():
		p.stride[axH] = p.stride[axD] // of a single row
	}
	// A pass reads the channels that a planar task has written as rows of one (case chain_pair_ln_gelu_d256_s64).
	w := r.writer()
	asRows := u.role == source1 && d.does(td.NEPass) && ext[axH] > 1 && w.pe != nil && w.dst.ext[axC] > 1
	if u.role == source1 && d.does(td.NEPass) && ext[axH] == 1 && ext[axD] == 1 && ext[axC] > 1 &&
		w.writesRows() {
		// Or as channels the rows of one channel (case chain_pair_gelu_mm_d256_s64); there is one row and one depth, so
		// that their strides are not taken.
		p.stride[axH], p.stride[axD] = r.bare, r.bare
	}
	apart := o.buf.spacing != 0 && !(o.buf.spacing == rowsApart && u.role == result && d.pe != nil)
	if (ext[axC] == 1 || o.broadcast[axC]) && !swapped && !apart && !asRows {
		one := p.stride[axH] // of a single channel
		if one == r.pack {
			one = r.bare
		}
		p.stride[axC] = one
		if ext[axD] == 1 {
			p.stride[axD] = one
		}
	}
}
