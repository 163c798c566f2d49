package lower

import (
	"fmt"
	"sort"

	"github.com/zinc-compiler/zinc/lower/td"
)

// scratchAlign separates buffers in scratch.
const scratchAlign = 64

// finish plans scratch, completes the tasks' buffer fields and returns the
// procedure.
func (b *builder) finish(seg *Segment) (*Procedure, error) {
	if len(b.outputs)+len(b.inputs) > b.t.MaxSurfaces {
		return nil, fmt.Errorf("segment %s has %d surfaces; a procedure has buffer-access registers for %d", seg.Name,
			len(b.outputs)+len(b.inputs), b.t.MaxSurfaces)
	}
	b.keepInL2()
	b.placeTransients()
	size := b.planScratch()
	final := map[*buffer]int{} // last task that writes an output
	for _, f := range b.fixups {
		if f.bar == td.WBase && f.buf.space == outPort {
			final[f.buf] = max(final[f.buf], f.task)
		}
	}
	partial := make([]bool, len(b.tasks))
	for i := range b.fixups {
		f := &b.fixups[i]
		t := b.tasks[f.task]
		bar := f.buf.bar
		if f.buf.space == scratch {
			bar = BarScratch
		}
		t.Set(f.bar, bar).SetBool(f.enable, true).Set(f.base, int(f.buf.off+f.off))
		if f.bar == td.KBase0 && f.buf.space == scratch {
			t.Set(td.DTID, f.buf.def)
		}
		if f.bar == td.RBase0 && f.buf.space == scratch && t.On(td.SrcEn) {
			t.Set(td.SrcCacheHint, 0).Set(td.SrcReuse, 9).Set(td.SrcDependency, 5) // not read again (recorded)
		}
		if f.bar == td.WBase {
			if f.buf.space == scratch && t.On(td.DstEn) {
				t.Set(td.DstCacheHint, 15) // read again soon (recorded)
			}
			partial[f.task] = f.buf.space == outPort && f.task < final[f.buf]
			if partial[f.task] || f.buf.space != outPort {
				t.SetBool(td.TBE, true)
			}
		}
	}
	b.fetchedAgain()
	b.dependencies()
	p := &Procedure{
		Name: seg.Name, Tasks: b.tasks, Infos: b.infos, Inputs: b.inputs, Outputs: b.outputs,
		Scratch: size, Relocs: make([][]int, len(b.tasks)), Tables: b.tables, Resident: b.resident, Constants: b.consts,
	}
	p.Stores, p.Held = b.heldValues(seg)
	for i, t := range b.tasks {
		p.Relocs[i] = b.relocs[i]
		marks(t, i, len(b.tasks), b.split[t] || t.Get(td.DPECategory) == 1)
		travel(t, partial[i])
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("segment %s task %d (%s): %w", seg.Name, i, b.infos[i].Rule, err)
		}
	}
	if b.old {
		oldForm(p)
	}
	return p, nil
}

// fetchedAgain sets the cache hints of an input that several tasks fetch: all but
// the last ask that it be kept (norm_layer_norm_ax1_2_3).
func (b *builder) fetchedAgain() {
	fetch := map[*buffer][]int{}
	for i := range b.fixups {
		if f := &b.fixups[i]; f.bar == td.RBase0 && f.buf.space == inPort && b.tasks[f.task].On(td.SrcEn) {
			fetch[f.buf] = append(fetch[f.buf], f.task)
		}
	}
	for _, tasks := range fetch {
		if len(tasks) == 1 {
			continue
		}
		for k, i := range tasks {
			t := b.tasks[i].Set(td.SrcReuse, 0xb)
			if k < len(tasks)-1 {
				t.Set(td.SrcNoReuse, 0xb)
			} else {
				t.Set(td.SrcCacheHint, 0)
			}
		}
	}
}

// marks sets the event words, which follow the position in the chain. The upper
// part of the debug mask is empty for a pass that only copies, and lacks bit 13
// for the tables of roots and reciprocals (all recorded chains).
func marks(t *td.Task, i, n int, split bool) {
	events, low := 0x400, 0x00
	switch {
	case n == 1:
		events, low = 0x42a, 0x6a
	case i == 0:
		events, low = 0x408, 0x68
	case i == n-1:
		events, low = 0x422, 0x6a
	}
	high := 0xfff800
	switch {
	case t.Get(td.PlanarType) != 0:
	case t.Get(td.NEOp) == neCopy && t.Get(td.Nonlinear) == 0:
		high = 0
	case split:
		high = 0xffd800
	}
	t.Set(td.LogEvents, events).Set(td.DebugLogEvents, high|low)
}

// travel sets the header's estimate of time and its location bits. The time is
// that of the bytes which the tile and kernel DMA move, in microseconds at 34.13
// GB/s (bytes * 3 / 102400, recorded on 64 of 66 convolutions and products). Of
// the locations SPL is set with a source in a buffer, TSE and TSR with a result
// in one that no later task adds to (partial says that one does); SPC and DPC say that the buffer
// is named but stays in L2; TDE comes
// with a kernel from scratch (recorded).
func travel(t *td.Task, partial bool) {
	moved := int64(0)
	tensor := func(w, h, d, c, inter int) int64 {
		inter = max(inter, 1)
		c = (max(c, 1) + inter - 1) / inter
		n := int64(max(d, 1)) * int64(c) * int64(max(h, 1)) * int64(max(t.Int(td.NumGroups), 1))
		return n * rowBytes(int64(w*inter))
	}
	if t.On(td.SrcEn) {
		moved += tensor(t.Int(td.Win), t.Int(td.Hin), t.Int(td.Din), t.Int(td.Cin), t.Int(td.SrcInterleave))
	}
	if t.On(td.Source2DMA) {
		moved += tensor(t.Int(td.Win), t.Int(td.Hin), t.Int(td.Din), t.Int(td.Cin), t.Int(td.Src2Interleave))
	}
	if t.On(td.DstEn) {
		w, h, d := t.Int(td.Wout), t.Int(td.Hout), t.Int(td.Dout)
		if typ := t.Int(td.PlanarType); typ >= peReduce && t.Get(td.Kw)*t.Get(td.Kh)*t.Get(td.Sx)*t.Get(td.Sy) == 1 {
			w, h, d = 1, 1, 1 // the output registers repeat the input's extents
		}
		c := t.Int(td.Cout)
		if t.On(td.SwapNE) || t.On(td.SwapResult) { // bytes as stored: channels along the row
			w, c = c, w
		}
		moved += tensor(w, h, d, c, t.Int(td.DstInterleave))
	}
	for i := range td.Lanes {
		if t.On(td.CoeffEn.At(i)) && t.Get(td.NEOp) == neMultiply { // tables do not count (binary_real_div_1x64x8x8)
			moved += int64(t.Get(td.CoeffSize.At(i)))
		}
	}
	t.Set(td.ExeCycles, int(min(max(moved+groupBytes(t), fetches(t)*fetchBytes, foldedBytes(t))*3/102400, 1<<16-1)))
	// A buffer that is named though its DMA is off counts as read or written;
	// a source beside one that stays in L2 does not.
	from := (t.On(td.SrcEn) || t.On(td.RBE0)) && (!t.On(td.PETwo) || t.On(td.Source2DMA))
	to := (t.On(td.DstEn) || t.On(td.WBE)) && !partial
	t.SetBool(td.SPL, from).SetBool(td.SPC, from && !t.On(td.SrcEn))
	t.SetBool(td.TSE, to).SetBool(td.TSR, to).SetBool(td.DPC, to && !t.On(td.DstEn))
}

// fetchBytes is what the time of one fetch comes to in bytes. Recorded sums and
// tables of 1x1 images with 64 to 4096 channels leave 150 to 154.
const fetchBytes = 150

// fetches counts the patches of the sources that come by DMA: a channel's patch is
// fetched for itself, and where patches are small their number decides the time.
// The neural engine fetches all rows of a channel at once, and either all groups.
func fetches(t *td.Task) int64 {
	sources := int64(0)
	for _, f := range []td.Field{td.SrcEn, td.Source2DMA} {
		if t.On(f) {
			sources++
		}
	}
	return patches(t) / int64(max(t.Int(td.NumGroups), 1)) * sources
}

// patches counts the pieces in which a task takes a source.
func patches(t *td.Task) int64 {
	n := int64(1)
	for _, f := range []td.Field{td.Cin, td.Din, td.NumGroups} {
		n *= int64(max(t.Int(f), 1))
	}
	if t.Get(td.PlanarType) == 0 {
		return n
	}
	across := func(ext, log td.Field) int64 { return (int64(t.Int(ext)) + 1<<t.Int(log) - 1) >> t.Int(log) }
	return n * across(td.Win, td.PatchWidth) * across(td.Hin, td.PatchHeight)
}

// groupBytes is what the time of a reduction's groups comes to in bytes: half a
// kilobyte each beside the transfers (modelled; reduce_probe_sum_ax3_1x64x8x8 and
// reduce_probe_mean_ax3_1x128x16x16 leave 350 to 680).
func groupBytes(t *td.Task) int64 {
	if g := int64(t.Int(td.NumGroups)); g > 1 && t.Int(td.PlanarType) >= peReduce && t.On(td.SrcEn) {
		return g * 512
	}
	return 0
}

// foldedBytes is what the time of a reduction's own work comes to in bytes: some for
// each patch and some for each pixel of one (modelled; fits the reductions of
// reduce_probe_max_ax2_1x64x8x8, chain_base_layer_norm_d256_s64, chain_attn).
func foldedBytes(t *td.Task) int64 {
	if t.Int(td.PlanarType) < peReduce {
		return 0
	}
	return patches(t) * (32 + int64(9<<(t.Int(td.PatchWidth)+t.Int(td.PatchHeight))/4))
}

// planScratch gives every scratch buffer an offset such that buffers alive at
// the same task do not overlap, and returns the bytes in all. Buffers come in
// the order of their first task; each takes the lowest gap that holds it.
func (b *builder) planScratch() int64 {
	var bufs []*buffer
	seen := map[*buffer]bool{}
	for i := range b.fixups {
		if f := b.fixups[i].buf; f.space == scratch && !seen[f] {
			seen[f] = true
			bufs = append(bufs, f)
		}
	}
	sort.SliceStable(bufs, func(i, j int) bool { return bufs[i].def < bufs[j].def })
	ends := append([]*buffer(nil), bufs...)
	sort.SliceStable(ends, func(i, j int) bool { return ends[i].last < ends[j].last })
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
		// Grow from a gap at the top, if one is there.
		f.off = free.trim(top)
		top = f.off + n
	}
	return top
}

// gap is a free stretch of scratch.
type gap struct{ off, size int64 }

// gaps are the free stretches, by offset, none touching another.
type gaps []gap

// take removes n bytes from the lowest gap that holds them.
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

// trim removes the gap that ends at top, if any, and returns where it began.
func (g *gaps) trim(top int64) int64 {
	if n := len(*g); n > 0 && (*g)[n-1].off+(*g)[n-1].size == top {
		off := (*g)[n-1].off
		*g = (*g)[:n-1]
		return off
	}
	return top
}

// give adds a stretch, joining its neighbours.
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
