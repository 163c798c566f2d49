package lower

import (
	"slices"

	"github.com/zinc-compiler/zinc/lower/td"
)

// Bits of the source and result configurations in the L2 block (the words without their low four bits): which of the
// latest neural ("conv") and planar tasks a stream must not overtake, and the format in which it is stored.
const (
	aliasConvSrc   = 0x1
	aliasConvRes   = 0x2
	formatGiven    = 0x4 // the stream names a buffer
	interleaveUnit = 0x10
	aliasPlanarSrc = 0x10000
	aliasPlanarRes = 0x40000
	aliasAll       = aliasConvSrc | aliasConvRes | aliasPlanarSrc | aliasPlanarRes
	twoStreams     = 0x100000 // source 2 comes by DMA
)

// Values of dependence.overlap: source 1 is the result of the previous task, read in the order in which that task
// writes it, so that the two overlap.
const (
	overlapNeural = 1
	overlapPlanar = 2
)

// dependence is how a task is ordered relative to those before it.
type dependence struct {
	sourceConfig             int // of the L2 streams of sources: alias mask and format
	firstConfig              int // of source 1's, where each source has one of its own
	secondConfig             int // of source 2's there, with its SourceType
	resultConfig             int // of the result
	overlap                  int // source 1 comes from the previous task while that task writes it
	planarNext, planarBefore bool
	nextWaits                bool // the next neural task waits for this one
	noneWaits                bool // no later task waits for the result
}

// span is a range of bytes in L2, empty unless hi > lo.
type span struct{ lo, hi int64 }

func (s span) meets(o span) bool { return s.lo < o.hi && o.lo < s.hi }

// footprint is what a task does to L2.
type footprint struct {
	planar bool
	fetch  [2]span // sources on their way in from DRAM
	read   [2]span // sources that are in L2
	give   span    // result that stays in L2
	leave  span    // result on its way out to DRAM
}

// sources are the bytes that the sources take.
func (f *footprint) sources() []span { return append(f.fetch[:], f.read[:]...) }

// fetchesOver reports whether a source on its way in takes bytes of one of the spans.
func (f *footprint) fetchesOver(spans ...span) bool {
	return slices.ContainsFunc(spans, func(o span) bool { return f.fetch[0].meets(o) || f.fetch[1].meets(o) })
}

// readsResult reports whether f reads what a task with the footprint o leaves in L2.
func (f *footprint) readsResult(o *footprint) bool {
	return f.read[0].meets(o.give) || f.read[1].meets(o.give)
}

// footprint returns what a placed task does to L2.
func (d *draft) footprint() footprint {
	f := footprint{planar: d.pe != nil}
	place := func(p l2Place, e [5]int64) span {
		return span{p.base, p.base + (d.groups()-1)*p.stride[axG] + (e[axD]-1)*p.stride[axD] +
			(e[axC]-1)*p.stride[axC] +
			(e[axH]-1)*p.stride[axH] + align(e[axW]*elemBytes, d.t.L2Granule)}
	}
	stored := func(e [5]int64, o *operand) [5]int64 {
		for ax := range e {
			e[ax] = max(e[ax], 1)
			if o.broadcast[ax] {
				e[ax] = 1
			}
		}
		if o.swap {
			e[axW], e[axC] = e[axC], e[axW]
		}
		return e
	}
	staged := func(o *operand) span { return span{o.l2.base, o.l2.base + o.staged} }
	in := d.src[0].ext
	for k := range d.src {
		o := &d.src[k]
		switch {
		case k == 1 && !d.two:
		case o.where == byDMA:
			f.fetch[k] = staged(o)
		case k == 1 && d.kind() == td.PlanarPair:
			pair := [5]int64{axG: 1, axD: 1, axC: in[axC], axH: 2, axW: 1}
			f.read[k] = place(o.l2, stored(pair, &operand{swap: o.swap}))
		default:
			f.read[k] = place(o.l2, stored(in, o))
		}
	}
	out := d.dst.ext
	if d.reduces() {
		out[axW], out[axH], out[axD] = 1, 1, 1
	}
	out = stored(out, &d.dst)
	if d.dst.where == byDMA {
		// Of a planar result, two rows of interleaved channels are in L2 on their way out (dynamic matmuls of 32, 64
		// and 128 rows with 64 by 64 elements, public records).
		rows, columns := d.groups()*out[axH]*out[axD]*out[axC], out[axW]
		if d.pe != nil && !d.dst.swap {
			rows, columns = min(rows, 2*max(d.dst.inter, 1)), min(columns, widePatch)
		}
		f.leave = span{d.dst.l2.base, d.dst.l2.base + rows*align(columns*elemBytes, d.t.L2Granule)}
		if d.pe != nil && d.inStrips() {
			f.leave.hi = f.leave.lo + d.tile*gatheredPatchRow(d.t, &d.dst)
		}
	} else {
		f.give = place(d.dst.l2, out)
	}
	return f
}

// overlaps reports whether task i reads source 1 from the previous task in the order in which that task writes it. The
// extents must be the same and no row or channel may be read more than once, but for the only row of a neural task
// (case candidate_select_rrb_1x1024x375_bcast_cond). The producer must finish its channels in one output group
// (recorded chains; inferred from two products), unless the reader has a live kernel
// (case chain_block_d768_s128_proj1). A planar producer must not keep its own source for later tasks
// (case norm_layer_norm_ax3_1x1x1x64), nor go down strips before another planar task (the last one of
// case candidate_select_rrb_1x1024x375_bcast_cond). A neural one must not read a source that was kept if it writes a
// column vector along a row or the planar one fetches (case select_rrb_1x64x1x1,
// case candidate_select_rrb_1x1024x375_bcast_cond; not case floor_r_1).
func (c *schedule) overlaps(i int, f, before *footprint) bool {
	if i == 0 || f.read[0].hi == 0 || before.give.hi == 0 || f.read[0].lo != before.give.lo {
		return false
	}
	d, p := c.drafts[i], c.drafts[i-1]
	s := d.src[0].broadcast
	// What the planar engine names is as if it came from scratch (case reduce_probe_sum_ax1_1x64x1x64), and a deviation
	// that fetches waits for the means (case chain_lnproj_d512_s256).
	if d.kind() == td.PlanarReduceTwo && d.fetchesSecond() {
		return false
	}
	if c.readsLaidOut(i, before) {
		return true
	}
	if d.src[0].where == named && !d.does(td.NEMultiply) { // not of as many rows as columns: case chain_ffn_d256_s256
		return false
	}
	kept := p.pe != nil && (p.keeps || p.inStrips() && d.pe != nil) ||
		p.takesKept && p.ne != nil && (p.dst.buf.layout == columnAlongRow || d.fetchesSecond())
	in, out, ox := d.src[0].ext, p.dst.ext, p.window.ox
	if s[axH] && p.ne != nil && out[axH] == 1 {
		in[axH], s[axH] = 1, false
	}
	if s[axC] && (in[axC] == 1 || c.t.OverlapsBroadcast) {
		// softmax over channels of 128x16x16, 8x1x128, 32x1x32, 128x1x1 and 4096x1x1 on h14
		in[axC], s[axC] = 1, false
	}
	if s[axH] || s[axC] || s[axD] || kept || p.pe != nil && d.transposesUnits() {
		return false
	}
	wide := out[axW] * ox
	same := wide >= in[axW] && wide < in[axW]+ox && out[axH] == in[axH] && out[axD] == in[axD] &&
		out[axC] == in[axC] && p.src[0].ext[axG] == in[axG] || c.t.OverlapsSwapped && d.exchanges(p) && d.inTurn(p)
	if p.shift.small && d.shift.small && d.ne.unicast {
		// channelwise work on an image of at most 8x8 (case encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_tiny)
		return false
	}
	groups := p.does(td.NEMultiply) && !p.ne.unicast && p.kernel != nil && out[axC] > c.t.Cores<<p.kernel.ocgSize &&
		(d.kernel == nil || d.kernel.rows == nil)
	return same && !groups
}

// exchanges reports whether a task reads the result of another with channels and columns exchanged, row by row as it
// is stored.
func (d *draft) exchanges(p *draft) bool {
	in, out := d.src[0].ext, p.dst.ext
	return d.src[0].swap != p.dst.swap && in[axW] == out[axC] && in[axC] == out[axW] && in[axH] == out[axH]
}

// inTurn reports whether a task takes in turn what another exchanges for it: between planar tasks in more than one
// patch (layer_norm over 1024 and 4096 channels on h14; not over 512); on the neural engine after a planar task that
// waits for the neural one, or after a neural one that overlaps (softmax over 128 to 4096 channels on h14; not softmax
// of rows of one element).
func (d *draft) inTurn(p *draft) bool {
	switch in := d.src[0].ext; {
	case d.pe != nil:
		return p.pe != nil && max(in[axW], in[axC]) > widePatch
	case p.pe != nil:
		return p.deps.sourceConfig&aliasConvRes != 0
	}
	return p.deps.overlap != 0
}

// readsLaidOut reports whether task i is a product of the rows that a pass before it, which takes several channels of a
// core at a time, has laid out, and its result stays in L2 (chains of 64 rows on h14; not a product of 64 rows on h14
// and h16). The pass must not overlap a planar task itself (not a layer_norm of 128 rows on h14).
func (c *schedule) readsLaidOut(i int, before *footprint) bool {
	d, p := c.drafts[i], c.drafts[i-1]
	in, out := d.src[0].ext, p.dst.ext
	if d.dst.where == byDMA || !d.does(td.NEMultiply) || p.passLanes() == 0 || !d.window.alone() ||
		in[axW] != out[axC] || in[axC] != out[axW] || in[axH] != out[axH] || d.groups() != p.groups() {
		return false
	}
	if i > 1 && c.drafts[i-2].pe != nil {
		first := c.drafts[i-2].footprint()
		return !c.overlaps(i-1, before, &first)
	}
	return true
}

// dependencies sets what orders tasks relative to each other: alias and dependence bits of the L2 streams, and the
// marks of planar tasks that run back to back.
func (c *schedule) dependencies() {
	b := scoreboard{schedule: c}
	for i, d := range c.drafts {
		if b.issue(i, d) {
			tilePipelined(d, c.drafts[i-1])
		}
	}
	c.signals()
}

// writesScratch reports whether the result of d goes to scratch by DMA.
func writesScratch(d *draft) bool { return d.dst.where == byDMA && d.dst.buf.space == scratch }

// sameFetch reports whether two tasks fetch the same window as source 1.
func sameFetch(d, before *draft) bool {
	a, b := &d.src[0], &before.src[0]
	return b.where == byDMA && a.where == byDMA && a.buf == b.buf && a.off == b.off && a.pix == b.pix
}

// signals marks two kinds of tasks: those whose end a later task waits for, and those whose result in scratch no task
// waits for. Neural tasks run in turn, so not every reader waits (dynamic matmuls of 128 rows with 2048 columns, public
// records).
func (c *schedule) signals() {
	waits := map[*buffer]bool{}
	var next *draft // the neural task after d
	for i := len(c.drafts) - 1; i >= 0; i-- {
		d := c.drafts[i]
		if d.ne != nil && d.dst.where == byDMA {
			d.deps.nextWaits = next != nil && next.fetches() && next.deps.sourceConfig&aliasConvRes != 0
		}
		// Of a later product: what a product computes (case chain_block_d512_s128_proj1), and what a planar task lays
		// out if the next task fetches nothing (case chain_block_d512_s128_proj0).
		kernel := d.dst.inter > 1 && (d.does(td.NEMultiply) || i+1 < len(c.drafts) && c.drafts[i+1].readsOnChip())
		d.deps.noneWaits = writesScratch(d) && (kernel || !waits[d.dst.buf])
		for u := range d.uses(i) {
			inTurn := u.role == source1 && d.ne != nil && d.deps.sourceConfig&aliasAll == 0
			waits[u.buf()] = waits[u.buf()] || u.role != result && !inTurn
		}
		if d.ne != nil {
			next = d
		}
	}
}

// readsOnChip reports whether a task fetches neither a source nor a live kernel.
func (d *draft) readsOnChip() bool { return !d.fetches() && (d.kernel == nil || d.kernel.rows == nil) }

// tilePipelined sets the tiling of two tasks of two engines that overlap. The neural task folds as many rows into a
// unit as its columns leave space for, even if it has fewer rows, and the patch of a planar task beside it has the same
// height (recorded in softmax over rows and over channels; case floor_r_1), unless that follows a neural task which
// overlaps a planar one itself (case chain_attn_s64_dh64: the sum of the powers, not the maximum).
func tilePipelined(d, before *draft) {
	switch {
	case d.pe != nil && before.ne != nil:
		if before.dst.buf.layout != columnAlongRow { // case select_rrb_1x64x1x1
			if s := before.pipelinedUnits(0); before.deps.overlap != overlapPlanar {
				d.patch[1] = max(d.patch[1], s)
			}
		}
	case d.does(td.NEPass) && before.pe != nil:
		rows := before.patch[1]
		if before.rowsBroadcast() {
			rows = min(squarePatch, log2up(before.dst.ext[axH]))
			before.patch = [2]int{squarePatch, rows}
			if before.dst.ext[axW] <= 1<<squarePatch { // a patch has whole rows (case norm_softmax_a3_1x128x16x16)
				rows = 0
			}
		}
		before.patch[0] = min(before.patch[0], log2up(d.t.WorkUnit)) // case chain_attn_s256_dh64
		if s := d.pipelinedUnits(rows); s > 0 {
			before.patch[1] = max(before.patch[1], s)
		}
	}
}

// squarePatch is log2 of the columns and rows of a planar patch where one number is broadcast along each row of an
// image and everything is in L2 (case env_chain_softmax_h1_s64, case env_chain_softmax_h8_s64).
const squarePatch = 4

// rowsBroadcast reports whether a planar task has such patches.
func (d *draft) rowsBroadcast() bool {
	return d.kind() == td.PlanarTwo && d.dst.ext[axH] > 1 && d.dst.where == inL2 && !d.fetches() &&
		(d.src[0].broadcast[axW] || d.src[1].broadcast[axW])
}

// pipelinedUnits folds the rows of a neural task into units by its columns alone, and at least as many rows as a patch
// before it has (case norm_softmax_a1_1x128x16x16), unless a product or sum has chosen its own shift. It returns the
// shift.
func (d *draft) pipelinedUnits(patch int) int {
	s := min(patch, maxShift)
	for s < maxShift && d.dst.ext[axW] <= d.t.WorkUnit>>(s+1) {
		s++
	}
	if s == 0 || d.shift.min != 0 || d.shift.small {
		return 0
	}
	d.shift.max, d.shift.min, d.shift.pref = s, s, s
	return s
}
