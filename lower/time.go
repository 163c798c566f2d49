package lower

import (
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// times sets the header's estimate of time: that of the bytes which the tile and kernel DMA move, or the time of the
// fetches, of a reduction's own work or of a sum of products where one of these takes longer.
func (c *schedule) times() {
	for i, d := range c.drafts {
		in, out, kernel := d.moved()
		work := max(d.fetched()*d.t.HeaderFetch, d.foldedWork(), d.patchWork())
		cycles, own := max(d.tableCycles(), c.pipelinedCycles(i)), int64(0)
		if t := c.t; t.HeaderRead > 0 {
			own = max(d.products()/t.HeaderProducts, transferTime(t, in, out, kernel))
		} else {
			work = max(work, in+out+kernel+d.groupWork())
			cycles = max(cycles, d.multiplyCycles())
		}
		d.time = min(max(work*3/c.t.HeaderBytes, cycles/cyclesPerMicrosecond, own), 1<<16-1)
	}
}

// transferTime is the time of transfers one after the other, each at its own rate (43 of 44 published estimates of
// convolutions, with products).
func transferTime(t *target.Table, in, out, kernel int64) int64 {
	const parts = 1e6 // of a microsecond
	return (in*parts/t.HeaderRead + out*parts/t.HeaderWrite + kernel*parts/t.HeaderKernel) / parts
}

// products is the number of products that the model's convolution has for the result of a task, whatever taps a rewrite
// adds.
func (d *draft) products() int64 {
	if !d.does(td.NEMultiply) || d.kernel == nil {
		return 0
	}
	out, terms := d.dst.ext, d.ne.terms
	if terms == 0 {
		terms = d.src[0].ext[axC] * d.window.kw * d.window.kh
	}
	return d.groups() * max(out[axD], 1) * out[axC] * max(out[axH], 1) * out[axW] * d.window.ox * terms
}

// multiplyCycles is the number of cycles that a core takes for a sum of products: one for two outputs, of each term of
// each work unit (the larger slices of case conv_probe_k3_c256_n256_s32_st1_g1_bias1_valid and
// case conv_probe_k3_c256_n256_s64_st1_g1_bias1_valid). Without a window it cannot read the source faster than a work
// unit in unitCycles.
func (d *draft) multiplyCycles() int64 {
	if !d.does(td.NEMultiply) || d.ne.unicast || d.cores == 0 {
		return 0
	}
	out, s := d.dst.ext, d.shift.max
	units := (out[axW] + d.t.WorkUnit>>s - 1) / (d.t.WorkUnit >> s) * ((max(out[axH], 1) + 1<<s - 1) >> s)
	lanes := (out[axC] + int64(d.cores) - 1) / int64(d.cores)
	if d.window.alone() {
		lanes = max(lanes, 2*unitCycles)
	}
	return units * d.groups() * d.src[0].ext[axC] * d.window.kw * d.window.kh * lanes / 2
}

// tableCycles is the number of cycles in which the core of a single channel looks up its elements in a table: of
// bytes, or of a source in L2, it takes longer than the transfers (case logical_not_1x1x749x375,
// case chain_pair_ln_gelu_d256_s64), also where the task overlaps the one before it (case chain_base_softmax_d256_s64).
func (d *draft) tableCycles() int64 {
	out := d.dst.ext
	if !d.does(td.NEPass) || d.table == nil && !d.t.TimesCopies || out[axC] != 1 || d.dst.swap {
		return 0
	}
	return d.groups() * max(out[axD], 1) * max(out[axH], 1) * out[axW] / tableElements
}

// pipelinedCycles is the number of cycles of a pass, task i, beside the planar task whose result it reads. A pass that
// waits for the whole result takes no time of its own (case chain_block_d512_s128_proj0), nor does one whose result the
// next neural task takes in turn (softmax over channels of 128x16x16 on h14; not case norm_softmax_a3_1x128x16x16).
func (c *schedule) pipelinedCycles(i int) int64 {
	d := c.drafts[i]
	if !d.does(td.NEPass) || d.deps.overlap != overlapPlanar {
		return 0
	}
	if i+1 < len(c.drafts) && c.drafts[i+1].ne != nil && c.drafts[i+1].deps.overlap != 0 {
		return 0
	}
	in := d.src[0].ext
	return d.groups() * max(in[axD], 1) * max(in[axH], 1) * max(in[axC], 1) * in[axW] / pipelinedElements
}

// moved is the number of bytes that the DMA of the task moves: of sources, of its result, and of its kernel.
func (d *draft) moved() (read, written, kernel int64) {
	tensor := func(o *operand, w, h, depth, c int64) int64 {
		inter := max(o.inter, 1)
		c = (max(c, 1) + inter - 1) / inter
		return max(depth, 1) * c * max(h, 1) * d.groups() * align(w*inter*o.buf.elemBytes(), 64)
	}
	in := d.src[0].ext
	if d.rowAgain {
		in[axH] = 1
	}
	if d.src[0].where == byDMA {
		read += tensor(&d.src[0], in[axW], in[axH], in[axD], in[axC])
	}
	if d.fetchesSecond() {
		in = d.secondExtents(in)
		read += tensor(&d.src[1], in[axW], in[axH], in[axD], in[axC])
	}
	if d.dst.where == byDMA {
		out := d.dst.ext
		if d.repeatsExtents() {
			out[axW], out[axH], out[axD] = 1, 1, 1
		}
		if d.dst.swap { // bytes as stored: channels along the row
			out[axW], out[axC] = out[axC], out[axW]
		}
		if d.t.WideByPairs {
			out[axW] *= d.window.ox
		}
		written = tensor(&d.dst, out[axW], out[axH], out[axD], out[axC])
	}
	if d.kernel != nil && d.does(td.NEMultiply) { // tables do not count (case binary_real_div_1x64x8x8)
		blocks := int64(1) // of one group (recorded products of eight and of four pairs of matrices on h14)
		if r := d.kernel.rows; r != nil && r.group > 0 {
			per := int64(d.cores) << d.kernel.ocgSize
			blocks = (d.dst.ext[axC] + per - 1) / per
		}
		for _, l := range d.kernel.lanes(d.cores) {
			if l.on {
				kernel += l.size * blocks
			}
		}
	}
	return read, written, kernel
}

// secondExtents returns the extents of source 2 as it is stored, of a task whose source 1 has the extents in and that
// fetches what it broadcasts; on other targets the bytes of source 1 count.
func (d *draft) secondExtents(in [5]int64) [5]int64 {
	if !d.t.FetchesBroadcast {
		return in
	}
	o := &d.src[1]
	for ax, one := range o.flat {
		if one {
			in[ax] = 1
		}
	}
	if d.kind() == td.PlanarPair {
		in[axW], in[axH] = 1, 2
	}
	if o.swap {
		in[axW], in[axC] = in[axC], in[axW]
	}
	return in
}

// repeatsExtents reports whether the extents of the result repeat the source's extents, as in recorded reductions.
func (d *draft) repeatsExtents() bool { return d.reduces() && d.window.alone() }

// fetched counts the patches of the sources that come by DMA: the patch of each channel is fetched separately, and if
// patches are small their number determines the time. The neural engine fetches all rows of a channel at once, and it
// and a reduction fetch all groups (not case env_bcast_mul_8x64x1x1_runtime_8x64x1x1).
func (d *draft) fetched() (n int64) {
	in := d.src[0].ext
	if d.src[0].where == byDMA {
		n += d.patchesOf(in)
	}
	if d.fetchesSecond() {
		n += d.patchesOf(d.secondExtents(in))
	}
	if d.ne != nil || d.reduces() {
		n /= d.groups()
	}
	return n
}

// patches counts the pieces in which a task works on source 1, and fetches it.
func (d *draft) patches() int64 { return d.patchesOf(d.src[0].ext) }

func (d *draft) patchesOf(in [5]int64) int64 {
	n := max(in[axC], 1) * max(in[axD], 1) * d.groups()
	if d.ne != nil {
		return n
	}
	across := func(ext int64, log int) int64 { return (ext + 1<<log - 1) >> log }
	return n * across(in[axW], d.patch[0]) * across(in[axH], d.patch[1])
}

// groupWork is the time of a reduction's groups, in bytes.
func (d *draft) groupWork() int64 {
	if g := d.groups(); g > 1 && d.reduces() && d.src[0].where == byDMA {
		return g * groupBytes
	}
	return 0
}

// foldedWork is the time of a reduction's own work, in bytes. Rows of whole wide patches take that of other planar work
// (case chain_lnproj_d1024_s128); what remains of a row is a patch as narrow as itself (case chain_lnproj_d768_s64).
func (d *draft) foldedWork() int64 {
	if !d.reduces() {
		return 0
	}
	columns, whole := int64(1)<<d.patch[0], int64(0)
	rows := d.patches()
	if columns == widePatch {
		w := d.src[0].ext[axW]
		rows /= (w + widePatch - 1) / widePatch
		columns, whole = w%widePatch, w/widePatch*widePatch
	}
	if columns > 0 {
		columns = max(columns, foldedLeast)
	}
	return rows * (columns*foldedColumn + whole*patchPixels/patchShare)
}

// patchWork is the time of the own work of a planar task that does not reduce, in bytes: less than two bytes for three
// pixels of a patch (case norm_softmax_a3_1x8x128x128; case floor_r_1x512x1x1 shows that the pixels count, not the
// patches).
func (d *draft) patchWork() int64 {
	if d.pe == nil || d.reduces() {
		return 0
	}
	return d.patches() * patchPixels << (d.patch[0] + d.patch[1]) / patchShare
}

// columns is the number of elements in a stored row of a stream's tensor.
func (d *draft) columns(r role) int64 {
	o, e := d.stream(r), d.extents(r)
	w := e[axW]
	switch {
	case o.swap:
		w = e[axC]
		if r != result && o.broadcast[axC] {
			w = 1
		}
	case r == source1 && o.broadcast[axW], r == source2 && (o.broadcast[axW] || d.kind() == td.PlanarPair):
		w = 1 // a pair of parameters per channel
	case r == result && d.repeatsExtents():
		w = 1
	case r == result && d.ne != nil: // in groups of ox columns
		w *= d.window.ox
	}
	return max(w, 1)
}
