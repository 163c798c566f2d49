package lower

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// schedule is the drafts of a procedure, with the planners' results for all of them.
type schedule struct {
	t        *target.Table
	drafts   []*draft
	codec    *td.Codec
	kernels  int   // buffer-access register of coefficients and lookup tables
	scratch  int64 // bytes
	resident int   // number of buffers that stay in L2
}

// Planner is one row of the list of planners.
type Planner struct {
	Name string
	Doc  string
	Why  string // the reason for its place in the list
	run  func(c *schedule) error
}

// Planners is every planner in order. A trial stops after trialPlanners of them.
var Planners = []Planner{
	{Name: "lives", Doc: "the first and the last task of each buffer", Why: "needs the drafts only",
		run: quiet((*schedule).lives)},
	{Name: "shape", Doc: "tile, cores, work units or patch of each task, and the L2 that its sources take",
		Why: "a trial ends after it, with the refusal of what does not fit in L2", run: (*schedule).shapes},
	{Name: "residents", Doc: "keep scratch buffers in L2 if they fit together with the tasks' own sources",
		Why: "needs the lifetimes; buffers in L2 take no scratch memory", run: quiet((*schedule).keepInL2)},
	{Name: "kept-sources", Doc: "a source that several tasks of an operation fetch stays in L2",
		Why: "kept sources are above the residents", run: quiet((*schedule).keepSources)},
	{Name: "transients", Doc: "addresses in L2 of sources and results that pass through it",
		Why: "they are above all that stays in L2", run: quiet((*schedule).placeTransients)},
	{Name: "scratch", Doc: "offsets of the buffers in scratch", Why: "after the planners that keep buffers in L2",
		run: quiet((*schedule).planScratch)},
	{Name: "cache", Doc: "cache hints of first sources, and ports that several tasks write",
		Why: "depends on which sources come by DMA", run: quiet((*schedule).hints)},
	{Name: "dependences", Doc: "what a task must not overtake, and tasks that overlap",
		Why: "needs final addresses in L2", run: quiet((*schedule).dependencies)},
	{Name: "older-form", Doc: "unit shifts as in tasks of the compilers that wrote every record whole",
		Why: "after dependences, which sets the shifts of tasks that overlap", run: quiet((*schedule).oldForm)},
	{Name: "time", Doc: "the header's estimate of time", Why: "needs final patches and streams",
		run: quiet((*schedule).times)},
	{Name: "events", Doc: "which tasks are first and last, and which have the kernel of their neighbour",
		Why: "no other planner depends on it", run: quiet((*schedule).ends)},
	{Name: "live-outs", Doc: "the parts of L2 that later tasks read, if the version of the descriptor has them",
		Why: "needs final addresses in L2 and the last task", run: quiet((*schedule).liveOuts)},
}

// trialPlanners is the number of planners that a trial runs.
const trialPlanners = 2

func quiet(f func(c *schedule)) func(c *schedule) error {
	return func(c *schedule) error {
		f(c)
		return nil
	}
}

// procedure encodes the drafts and returns the procedure.
func (b *builder) procedure(seg *Segment) (*Procedure, error) {
	p := &Procedure{
		Name: seg.Name, Inputs: b.inputs, Outputs: b.outputs, Scratch: b.scratch, Tables: b.tables,
		Resident: b.resident, Constants: b.consts, Exceeds: b.exceeds,
		Infos: make([]TaskInfo, 0, len(b.drafts)),
	}
	if seg.Keep {
		p.Stores, p.Materialised = b.materialised(seg)
	}
	b.vals = nil
	var last [2]td.Task // unless tasks are kept: Emit may read a task until the next one is emitted
	once := seg.Keep || len(b.drafts) > maxReused
	for i, d := range b.drafts {
		if once {
			b.drafts[i] = nil
		}
		t := &last[i%2]
		if seg.Keep {
			t = td.New()
		}
		*t = td.Task{}
		b.encode(t, d)
		if err := t.Err(); err != nil {
			return nil, &Error{d.op, d.rule, fmt.Errorf("segment %s task %d: %w", seg.Name, i, err)}
		}
		p.Infos = append(p.Infos, TaskInfo{Op: d.op, Rule: d.rule, Kind: d.taskKind()})
		if seg.Emit != nil {
			if err := seg.Emit(t, d.relocs(), len(b.drafts)-1-i); err != nil {
				return nil, fmt.Errorf("segment %s task %d: %w", seg.Name, i, err)
			}
		}
		if seg.Keep {
			p.Tasks = append(p.Tasks, t)
		}
	}
	if !once {
		reuse(b.drafts)
	}
	return p, nil
}

// plan runs planners.
func (c *schedule) plan(list []Planner) error {
	for i := range list {
		if err := list[i].run(c); err != nil {
			return err
		}
	}
	return nil
}

// relocs lists the lanes that read the constant section.
func (d *draft) relocs() (lanes []int) {
	if d.kernel == nil || d.kernel.parts == nil {
		return nil
	}
	for i, live := range d.kernel.parts.Live {
		if live {
			lanes = append(lanes, i)
		}
	}
	return lanes
}

// shapes is shape of every draft.
func (c *schedule) shapes() error {
	for i, d := range c.drafts {
		if err := c.shape(d); err != nil {
			return &Error{d.op, d.rule, fmt.Errorf("task %d: %w", i, err)}
		}
	}
	return nil
}

// uses yields the uses of all buffers, task after task.
func (c *schedule) uses() iter.Seq[use] {
	return func(yield func(use) bool) {
		for i, d := range c.drafts {
			for u := range d.uses(i) {
				if !yield(u) {
					return
				}
			}
		}
	}
}

// lives records the first and last task of every buffer. A column that the planar engine has transposed keeps its place
// if the neural engine reads it (softmaxColumn).
func (c *schedule) lives() {
	for u := range c.uses() {
		buf := u.buf()
		if buf.def < 0 {
			buf.def = u.task
		}
		buf.last = u.task
		if buf.layout == columnAlongRow && u.role == source1 && u.d.ne != nil && c.drafts[buf.def].pe != nil {
			buf.keepScratch()
		}
	}
}

// apartFrom reports whether two operands are windows of a buffer that have no byte in common.
func (o *operand) apartFrom(p *operand) bool {
	return o.off+o.span() <= p.off || p.off+p.span() <= o.off
}

// span is the number of bytes of its buffer from an operand's first to its last.
func (o *operand) span() int64 {
	n := o.ext[axW] * elemBytes
	for _, ax := range [...]int{axH, axC, axD, axG} {
		n += (o.ext[ax] - 1) * o.stride[ax]
	}
	return n
}

// fetchesLater reports whether a later task of the operation of task i fetches some of o as a first source.
func (c *schedule) fetchesLater(i int, o *operand) bool {
	for _, d := range c.drafts[i+1:] {
		if d.op != c.drafts[i].op {
			return false
		}
		if p := &d.src[0]; p.where == byDMA && p.buf == o.buf && !p.apartFrom(o) {
			return true
		}
	}
	return false
}

// hints sets the cache hints of first sources and marks the tasks that write a part of a port. All but the last of the
// tasks that fetch an input request that the cache keep it (case norm_layer_norm_ax1_2_3_1x64x8x8), unless they fetch
// different parts (case conv_probe_k3_c512_n512_s16_st1_g4_bias0_same) that no later task of the operation fetches
// (case chain_lnproj_d512_s256).
func (c *schedule) hints() {
	fetch := map[*buffer]*draft{} // the latest that fetches a buffer
	final := map[*buffer]*draft{} // the latest that writes a port
	for i, d := range c.drafts {
		if o := &d.src[0]; o.where == byDMA {
			before := fetch[o.buf]
			switch {
			case o.buf.space == scratch && before == nil:
				d.hint = hintScratch
			case o.buf.space == scratch:
				before.hint = either(before.hint == hintScratch, hintFirst, hintAgain)
				d.hint = hintDone
			case o.buf.space == inPort && before != nil && !before.src[0].apartFrom(o):
				before.hint, d.hint = hintAgain, hintLast
			}
			if d.pe != nil && o.buf.space == inPort && c.fetchesLater(i, o) {
				d.hint = hintAgain
			}
			fetch[o.buf] = d
		}
		if o := &d.src[1]; d.pe != nil && d.fetchesSecond() && o.buf.space == inPort && c.fetchesLater(i, o) {
			d.hint2 = hintAgain
		}
		if o := &d.dst; o.buf.space == outPort {
			if before := final[o.buf]; before != nil {
				before.partial = true
			}
			final[o.buf] = d
		}
	}
}

// ends marks the first and the last task.
func (c *schedule) ends() {
	if n := len(c.drafts); n > 0 {
		c.drafts[0].first, c.drafts[n-1].last = true, true
	}
	for i := 1; c.t.KeepsKernel && i < len(c.drafts); i++ {
		if a, b := c.drafts[i-1], c.drafts[i]; a.sameKernel(b) {
			a.kernelStays, b.kernelStays = true, true
		}
	}
}

// sameKernel reports whether two tasks multiply with the same constant, of which a core's part stays in kernel memory.
func (d *draft) sameKernel(o *draft) bool {
	return d.does(td.NEMultiply) && o.does(td.NEMultiply) && d.kernel != nil && o.kernel != nil &&
		d.kernel.parts != nil && o.kernel.parts != nil && *d.kernel.parts == *o.kernel.parts &&
		int64(slices.Max(d.kernel.parts.Size[:])) <= d.t.KernelBytes
}

// scratchAlign separates buffers in scratch.
const scratchAlign = 64

// planScratch gives every scratch buffer an offset such that buffers alive at
// the same task do not overlap. Buffers come in the order of their first task; each
// takes the lowest gap that holds it.
func (c *schedule) planScratch() {
	var bufs, namedInL2 []*buffer
	seen := map[*buffer]bool{}
	for u := range c.uses() {
		if f := u.buf(); f.space == scratch && !seen[f] && (u.o == nil || u.o.where != inL2) {
			seen[f] = true
			if u.o != nil && u.o.where == named {
				namedInL2 = append(namedInL2, f)
			} else {
				bufs = append(bufs, f)
			}
		}
	}
	c.scratch = max(placeScratch(bufs), placeNamed(namedInL2, bufs))
}

// placeNamed places the buffers that tasks name although they stay in L2, beside those that are in scratch
// (case chain_block_d512_s128_proj1), and returns the number of bytes in use. The latter are in the order of their
// first task. Few buffers stay in L2 at a time, so that all their lives together are a few times as long as the
// procedure.
func placeNamed(bufs, placed []*buffer) (top int64) {
	byFirstTask(bufs)
	var begun, beside []*buffer // those in use at f's first task, and during all of its life
	next := 0
	for _, f := range bufs {
		for ; next < len(placed) && placed[next].def <= f.def; next++ {
			begun = append(begun, placed[next])
		}
		begun = slices.DeleteFunc(begun, func(p *buffer) bool { return p.last < f.def })
		beside = append(beside[:0], begun...)
		for _, p := range placed[next:] {
			if p.def > f.last {
				break
			}
			beside = append(beside, p)
		}
		slices.SortFunc(beside, func(p, q *buffer) int { return cmp.Compare(p.off, q.off) })
		f.off = 0
		for _, p := range beside {
			if f.off+align(f.size, scratchAlign) <= p.off {
				break
			}
			f.off = max(f.off, p.off+align(p.size, scratchAlign))
		}
		begun = append(begun, f)
		top = max(top, f.off+align(f.size, scratchAlign))
	}
	return top
}

// byFirstTask sorts buffers by their first task, and buffers of the same task in the order that they have.
func byFirstTask(bufs []*buffer) {
	slices.SortStableFunc(bufs, func(p, q *buffer) int { return p.def - q.def })
}

// placeScratch places buffers and returns the number of bytes in use.
func placeScratch(bufs []*buffer) int64 {
	byFirstTask(bufs)
	ends := slices.Clone(bufs)
	slices.SortStableFunc(ends, func(p, q *buffer) int { return p.last - q.last })
	var free gaps
	top := int64(0)
	next := 0
	for _, f := range bufs {
		for next < len(ends) && ends[next].last < f.def {
			free.give(ends[next].off, align(ends[next].size, scratchAlign))
			next++
		}
		n := align(f.size, scratchAlign)
		if off, ok := free.take(n); ok {
			f.off = off
			continue
		}
		// Extend a gap at the top, if there is one.
		f.off = free.trim(top)
		top = f.off + n
	}
	return top
}

// gap is a free range of scratch.
type gap struct{ off, size int64 }

// gaps are the free ranges, by offset; no two are adjacent.
type gaps []gap

// take removes n bytes from the lowest gap that is large enough.
func (g *gaps) take(n int64) (int64, bool) {
	for i := range *g {
		e := &(*g)[i]
		if e.size < n {
			continue
		}
		off := e.off
		e.off += n
		e.size -= n
		if e.size == 0 {
			*g = append((*g)[:i], (*g)[i+1:]...)
		}
		return off, true
	}
	return 0, false
}

// trim removes the gap that ends at top, if any, and returns its offset.
func (g *gaps) trim(top int64) int64 {
	if n := len(*g); n > 0 && (*g)[n-1].off+(*g)[n-1].size == top {
		off := (*g)[n-1].off
		*g = (*g)[:n-1]
		return off
	}
	return top
}

// give adds a range and merges it with adjacent ones.
func (g *gaps) give(off, size int64) {
	i := sort.Search(len(*g), func(i int) bool { return (*g)[i].off > off })
	*g = append(*g, gap{})
	copy((*g)[i+1:], (*g)[i:])
	(*g)[i] = gap{off, size}
	if i+1 < len(*g) && off+size == (*g)[i+1].off {
		(*g)[i].size += (*g)[i+1].size
		*g = append((*g)[:i+1], (*g)[i+2:]...)
	}
	if i > 0 && (*g)[i-1].off+(*g)[i-1].size == off {
		(*g)[i-1].size += (*g)[i].size
		*g = append((*g)[:i], (*g)[i+1:]...)
	}
}
