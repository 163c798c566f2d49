package lower

import "github.com/zinc-compiler/zinc/lower/td"

// scoreboard is what a task must know of those before it to be ordered: the last task of each engine, which may still
// run when it begins.
type scoreboard struct {
	schedule       *schedule
	neural, planar inFlight
	task, before   issued // the task being ordered, and the one before it
}

// inFlight is the last task of an engine; draft is nil before the first one.
type inFlight struct {
	draft  *draft
	at     int // in the schedule
	foot   footprint
	read   bool // a task of the other engine has read its result
	apart  bool // so has one that does not overlap it
	waited bool // a neural task has waited for the neural one before it; one that fetches has waited for the planar one

	hidden *draft // the planar task before, whose result is unread, if this one leaves L2
}

// issued is a task as the scoreboard orders it.
type issued struct {
	inFlight
	first          *operand
	fetches        bool
	overlaps       bool // it runs beside the task before it, whose result it reads
	source, result int  // configurations of its L2 streams
	reads, fetched int  // bits of source that are about what it reads in L2, and about what it fetches
}

// hazards are the reasons why a task waits, each of which adds bits to the configurations of its streams. They are
// tried in order: a later one may depend on bits of an earlier one. The first readHazards are about sources in L2.
var hazards = []hazard{
	(*scoreboard).readsNeural,
	(*scoreboard).readsPlanar,
	(*scoreboard).readsKept,
	(*scoreboard).readsOwn,
	(*scoreboard).fetchesFirst,
	(*scoreboard).fetchesAfterNeural,
	(*scoreboard).fetchesAfterPlanar,
	(*scoreboard).fetchesForPlanar,
	(*scoreboard).readsKernel,
	(*scoreboard).writesOverPlanar,
}

const readHazards = 4

// hazard returns what a task adds to the configurations of its sources and of its result.
type hazard func(b *scoreboard, t *issued) (source, result int)

// issue orders task i, which comes next, after those before it, and enters it. It reports whether the task overlaps the
// one before it.
func (b *scoreboard) issue(i int, d *draft) (overlaps bool) {
	b.before = b.task
	b.task = issued{inFlight: inFlight{draft: d, at: i, foot: d.footprint()}, first: &d.src[0], fetches: d.fetches()}
	t := &b.task
	t.formats()
	t.overlaps = b.schedule.overlaps(i, &t.foot, &b.before.foot)
	for i, waits := range hazards {
		source, result := waits(b, t)
		t.source |= source
		t.result |= result
		if i < readHazards {
			t.reads |= source
		} else {
			t.fetched |= source
		}
	}
	d.deps.firstConfig = t.sourceConfig(&d.src[0])
	d.deps.secondConfig = t.secondConfig()
	d.deps.sourceConfig, d.deps.resultConfig = t.source, t.result
	if t.overlaps {
		d.deps.overlap = overlapNeural
		if b.before.foot.planar {
			d.deps.overlap = overlapPlanar
		}
	}
	d.deps.planarNext = b.amongPlanar(i) && b.amongPlanar(i+1) && !b.namesBetween(i)
	if t.foot.planar {
		d.deps.planarBefore = b.amongPlanar(i-1) && !b.namesBetween(i-1)
		b.neural.read = b.neural.read || b.neural.draft != nil && t.foot.readsResult(&b.neural.foot)
		last := t.inFlight
		if p := &b.planar; p.draft != nil && !p.read && t.draft.dst.where == byDMA {
			last.hidden = p.draft
		}
		b.planar = last
		return t.overlaps
	}
	if p := &b.planar; p.draft != nil {
		p.waited = p.waited || t.fetches && (t.source|t.result)&(aliasPlanarSrc|aliasPlanarRes) != 0
		if t.foot.readsResult(&p.foot) {
			p.read, p.apart = true, p.apart || !t.overlaps || p.at != i-1
		}
	}
	b.neural = t.inFlight
	b.neural.waited = i > 0 && t.fetches && t.source&aliasConvSrc != 0
	return t.overlaps
}

// namesBetween reports whether task i and the next one name the place in scratch of what one hands the other, which
// ends a run of planar tasks (case chain_pair_ln_ln_d256_s64).
func (b *scoreboard) namesBetween(i int) bool {
	d, next := b.schedule.drafts[i], b.schedule.drafts[i+1]
	return d.dst.where == named && next.src[0].buf == d.dst.buf
}

// amongPlanar reports whether task i is one of several in turn on the planar engine. A pass that exchanges channels and
// columns beside the planar task whose result it reads, for another, does not end them
// (case norm_layer_norm_ax1_1x64x8x8).
func (b *scoreboard) amongPlanar(i int) bool {
	all := b.schedule.drafts
	switch {
	case i < 0 || i >= len(all):
		return false
	case all[i].pe != nil:
		return true
	case i == 0 || i+1 == len(all) || all[i-1].pe == nil || all[i+1].pe == nil || !all[i].copies() || !all[i].dst.swap:
		return false
	}
	f, before := all[i].footprint(), all[i-1].footprint()
	return b.schedule.overlaps(i, &f, &before)
}

// formats sets how the streams are stored.
func (t *issued) formats() {
	d := t.draft
	t.source = interleaveUnit * int(max(t.first.inter, 1))
	t.result = interleaveUnit * int(max(d.dst.inter, 1))
	if !d.dst.buf.narrow {
		t.result |= formatGiven
	}
	if t.first.where != inL2 && !t.first.buf.narrow || d.fetchesSecond() {
		t.source |= formatGiven
	}
	if d.fetchesSecond() {
		t.source |= twoStreams
	}
}

// sourceConfig returns the configuration of one source, where each has its own. Of a planar task that fetches source 1
// and reads source 2 in L2, the stream of source 1 waits for what the task fetches over, and the stream of source 2 for
// its writer (recorded quotients of two tensors on h15 and h16).
func (t *issued) sourceConfig(o *operand) int {
	c := interleaveUnit * int(max(o.inter, 1))
	if o.where != inL2 && !o.buf.narrow {
		c |= formatGiven
	}
	if o.where == byDMA {
		return c | t.fetched
	}
	return c | t.reads
}

// secondConfig returns the configuration of source 2 and its type. In the first task one that is absent waits as well.
func (t *issued) secondConfig() int {
	d, shift := t.draft, td.SrcCfgRest.Row().Place(td.V7).Bit
	switch {
	case d.two && d.src[1].where == byDMA:
		return t.sourceConfig(&d.src[1])<<shift | int(td.SourceThrough)
	case d.two:
		return t.sourceConfig(&d.src[1]) << shift
	case t.at == 0:
		return (aliasAll | interleaveUnit) << shift
	}
	return 0
}

// readsFrom reports whether the task must wait for bytes that task from has written. One number for all channels is
// waited for, also if there is one channel (case norm_softmax_a1_1x1x1x128).
func (t *issued) readsFrom(o span, from int) bool {
	first := t.foot.read[0].meets(o) && (!t.overlaps || from != t.at-1 || t.first.broadcast[axC])
	return first || t.foot.read[1].meets(o)
}

func (b *scoreboard) readsNeural(t *issued) (source, result int) {
	n := &b.neural
	if n.draft == nil {
		return 0, 0
	}
	// The first reader waits, and one that names the result also after another task (case chain_block_d512_s128_proj1),
	// unless it overlaps that task.
	names := t.first.where == named && !t.overlaps && b.schedule.drafts[t.first.buf.def].ne != nil
	if names || !n.read && t.readsFrom(n.foot.give, n.at) {
		return aliasConvRes, 0
	}
	return 0, 0
}

func (b *scoreboard) readsPlanar(t *issued) (source, result int) {
	p := &b.planar
	waited := p.read // a task of the same engine has
	if t.foot.planar {
		// A wait for a neural result that was computed from it is enough (case env_chain_softmax_h1_s64).
		waited = p.apart || p.read && b.neural.at > p.at && t.source&aliasConvRes != 0
	}
	// Of what came before a planar task that leaves nothing in L2: case chain_block_d512_s128_proj0.
	hidden := p.hidden != nil && !t.foot.planar && t.first.buf == p.hidden.dst.buf
	if p.draft != nil && !waited && (hidden || t.readsFrom(p.foot.give, p.at)) {
		return aliasPlanarRes, 0
	}
	return 0, 0
}

// readsKept is about what a task of the other engine has fetched and left in L2. A planar task before may have waited
// for the result of the neural one already (layer_norm over channels of 64x8x8 on h14).
func (b *scoreboard) readsKept(t *issued) (source, result int) {
	other, alias := &b.planar, aliasPlanarSrc
	if t.foot.planar {
		other, alias = &b.neural, aliasConvSrc
	}
	if other.draft == nil || t.foot.planar && b.neural.read {
		return 0, 0
	}
	// What an earlier task of the other engine than its last has kept is there once the last has ended
	// (case chain_pair_add_ln_d256_s64).
	earlier := t.draft.keptBy
	if other.draft.keeps && t.readsFrom(other.foot.fetch[0], other.at) ||
		earlier != nil && earlier != other.draft && (earlier.ne != nil) == t.foot.planar {
		return alias, 0
	}
	return 0, 0
}

// readsOwn is about what an earlier neural task has fetched and left in L2 for this neural one (tasks 1 and 2 of a
// convolution with 1x9 taps on h18g).
func (b *scoreboard) readsOwn(t *issued) (source, result int) {
	d := t.draft
	if d.t.WaitsForKept && !t.foot.planar && d.keptBy != nil && d.keptBy.ne != nil {
		return aliasConvSrc, 0
	}
	return 0, 0
}

func (b *scoreboard) fetchesFirst(t *issued) (source, result int) {
	if t.fetches && t.at == 0 {
		return aliasAll, aliasAll
	}
	return 0, 0
}

// fetchesAfterNeural: the engine fetches in turn what it fetches for two tasks (case less_bool_rr_1x64x1x1), unless the
// second task reads scratch, comes after a task that writes it, or fetches the same again. It then waits for the first
// if that did not wait itself (products of 512 rows with 2048 by 2048 elements, one piece after the other, public
// records).
func (b *scoreboard) fetchesAfterNeural(t *issued) (source, result int) {
	n, d := &b.neural, t.draft
	if !t.fetches || t.foot.planar || t.at == 0 {
		return 0, 0
	}
	if n.draft == nil && !d.t.WaitsForEngine {
		return 0, 0
	}
	made := n.draft != nil && !n.waited && (t.first.buf.space == scratch || d.kernel != nil &&
		d.kernel.rows != nil || writesScratch(n.draft) || sameFetch(d, n.draft))
	if n.draft == nil || made || t.foot.fetchesOver(append(n.foot.read[:], n.foot.give)...) {
		return aliasConvSrc | aliasConvRes, aliasConvSrc | aliasConvRes
	}
	return 0, 0
}

func (b *scoreboard) fetchesAfterPlanar(t *issued) (source, result int) {
	p := &b.planar
	if !t.fetches || t.foot.planar || p.draft == nil || p.waited {
		return 0, 0
	}
	if t.foot.fetchesOver(p.foot.leave) { // which comes after its source
		return aliasPlanarRes, 0
	}
	if t.foot.fetchesOver(p.foot.sources()...) {
		source = aliasPlanarSrc
	}
	if t.foot.give.meets(p.foot.leave) || t.foot.leave.meets(p.foot.leave) {
		result = aliasPlanarRes
	}
	return source, result
}

func (b *scoreboard) fetchesForPlanar(t *issued) (source, result int) {
	n := &b.neural
	if t.fetches && t.foot.planar && n.draft != nil && t.foot.fetchesOver(n.foot.sources()...) {
		return aliasConvSrc, 0
	}
	return 0, 0
}

// readsKernel is about a kernel that the planar engine has written (products of live tensors on h14).
func (b *scoreboard) readsKernel(t *issued) (source, result int) {
	p, k := &b.planar, t.draft.kernel
	if k == nil || k.rows == nil || p.draft == nil || p.waited || k.rows.buf != p.draft.dst.buf ||
		!t.draft.t.WaitsForKernel {
		return 0, 0
	}
	return 0, aliasPlanarRes
}

// writesOverPlanar is about a result in the place of a planar source (case select_rrb_1x64x1x1), or of a
// planar result on its way out (case chain_attn_s128_dh96), unless the task waits for the whole of the planar one
// (case norm_softmax_a3_1x128x1x1).
func (b *scoreboard) writesOverPlanar(t *issued) (source, result int) {
	p := &b.planar
	if t.fetches || t.foot.planar || t.overlaps || p.draft == nil || p.read {
		return 0, 0
	}
	if t.source&aliasPlanarRes == 0 && (t.foot.give.meets(p.foot.read[0]) || t.foot.give.meets(p.foot.read[1])) {
		return 0, aliasPlanarSrc
	}
	if !p.waited && t.foot.give.meets(p.foot.leave) {
		return 0, aliasPlanarRes
	}
	return 0, 0
}
