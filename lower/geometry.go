package lower

import (
	"cmp"
	"fmt"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Rules for what follows from the shape of a task alone. Each names the recorded cases from which it was read (oracles
// of the h13 families).

// smallChannels is the largest number of channels of a small image (target.Table.SmallImage): 1024
// (case conv_k1_c1024_n1024_s1_bias0), not 2048 (case chain_block_d512_s64_proj1); numbers in between are not recorded.
const smallChannels = 1024

// transposeShift is the unit shift of a task that exchanges channels and width of such an image.
const transposeShift = 3

// maxPassLanes is log2 of the largest number of channels of a core that a pass takes at a time (quotients of 128 to
// 4096 channels on h14).
const maxPassLanes = 3

// passLanes is log2 of the channels of a core that a pass takes at a time as it exchanges channels and columns
// (products of 64 and of 128 rows on h14, of 64 on h15 and h16).
func (d *draft) passLanes() int {
	if !d.does(td.NEPass) || !d.dst.swap || !d.t.LanesInPasses {
		return 0
	}
	return min(log2up((d.dst.ext[axC]+d.t.Cores-1)/d.t.Cores), maxPassLanes)
}

// maxShift is the largest unit shift.
const maxShift = 4

// bytesOnly reports whether the task reads and writes bytes.
func (d *draft) bytesOnly() bool { return d.src[0].buf.narrow && d.dst.buf.narrow }

// unitColumns is the number of columns of a work unit of one row.
func (d *draft) unitColumns() int64 {
	if d.bytesOnly() {
		return d.t.WorkUnit * elemBytes
	}
	return d.t.WorkUnit
}

// l2Layout lays out a source that passes through L2, from base on: elements, then channels, then depth, then rows, with
// groups one after the other in the same place. A neural source keeps one work unit of a row, or cols if that is not 0;
// a planar source that is not reduced keeps widePatch columns (case env_bcast_mul_1x375x4096_runtime_1x375x4096), and
// one that is reduced as four rows those of a patch (case reduce_probe_mean_ax3_1x1x1x512). Rows are padded so that the
// rows of a patch fall on different banks. It returns the bytes of one group, as shown by the address of what follows
// it.
func l2Layout(d *draft, base int64, ext [5]int64, rows, cols int64, o *operand) (l2Place, int64) {
	c, w := ext[axC], ext[axW]
	if o.swap {
		c, w = w, c
	}
	switch {
	case d.ne != nil:
		w = min(w, cmp.Or(cols, d.unitColumns()))
	case d.inStrips() && !d.rowAgain:
		w = min(w, 1<<stripPatch)
	case !o.swap && !d.reduces():
		w = min(w, widePatch)
	case d.partRows > 1:
		w = min(w, 1<<d.patch[0])
	}
	ch := align(w*o.buf.elemBytes(), d.t.L2Granule)
	depth := ch * c
	whole := depth * ext[axD]
	row := whole + rowPad(d, ch, whole, ext[axH])
	switch {
	case narrowUnits(d.t, d):
		row = whole + narrowPad(d.t)
	case d.rowAgain:
		return l2Place{base, [4]int64{whole, depth, ch, ch}}, whole
	}
	return l2Place{base, [4]int64{whole, depth, ch, row}}, row * rows
}

// narrowPad is the padding in L2 of a row of a source in narrow units
// (case encoder_conv_idx_c8_n8_k1x1_s1_g8_bias0_valid_pad, case encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_f4,
// case encoder_slice_lastdim).
func narrowPad(t *target.Table) int64 { return 5 * t.L2Granule }

// maxUnitPad is the largest padding of a row of a neural source.
func maxUnitPad(t *target.Table) int64 { return narrowPad(t) }

// gatheredRow is the number of L2 bytes of a row of the result of a task in narrow units. The row is put together in
// L2, one channel of a work unit after the other. Rows of units of eight rows are padded by eight granules, of sixteen
// rows by ten (case encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_f4, case encoder_slice_lastdim).
func (d *draft) gatheredRow(t *target.Table) int64 {
	o := &d.dst
	row := o.ext[axG] * o.ext[axC] * align(min(o.ext[axW], t.WorkUnit)*elemBytes, t.L2Granule)
	return row + 2*int64(wideShift(t, d)+1)*t.L2Granule
}

// gathered is the place where rows of the result of a task in narrow units are put together.
func (d *draft) gathered(t *target.Table) l2Place {
	o := &d.dst
	ch := align(min(o.ext[axW], t.WorkUnit)*elemBytes, t.L2Granule)
	all := ch * o.ext[axC]
	return l2Place{stride: [4]int64{axG: all, axD: all, axC: ch, axH: d.gatheredRow(t)}}
}

// gathersTransposed reports whether a pass that exchanges channels and width for a port, or for several kernels, puts
// its result together in L2: with a channel for every core it would otherwise write a row in parts of less than the 64
// bytes that DMA moves (case encoder_transpose_r3_021, case reduce_probe_sum_ax2_1x128x16x16; a pass over eight
// channels does not, case reduce_probe_mean_ax2_1x64x8x8).
func (d *draft) gathersTransposed() bool {
	o := &d.dst
	return d.copies() && o.swap && (o.buf.space == outPort || o.buf.layout == stackOfKernels) &&
		o.ext[axC] >= d.t.Cores && max(o.ext[axG], 1) == 1 && max(o.ext[axD], 1) == 1
}

// transposedRow is the number of L2 bytes that gathersTransposed needs to put one row together.
func transposedRow(t *target.Table, o *operand) int64 {
	return o.ext[axW] * align(o.ext[axC]*o.buf.elemBytes(), t.L2Granule)
}

// gatheredTransposed is the place where gathersTransposed puts a result together.
func gatheredTransposed(t *target.Table, o *operand) l2Place {
	row := transposedRow(t, o)
	return l2Place{stride: [4]int64{row, row, align(o.ext[axC]*o.buf.elemBytes(), t.L2Granule), row}}
}

// transposedResult is the place where a planar result that goes to DRAM with channels and width exchanged is put
// together: the rows of all groups (case reduce_probe_sum_ax1_1x64x8x8 with eight,
// case reduce_probe_mean_ax2_3_1x64x8x8_flat with one).
func transposedResult(t *target.Table, o *operand) l2Place {
	row := align(o.ext[axC]*elemBytes, t.L2Granule)
	groups := max(o.ext[axG], 1)
	if groups == 1 {
		return l2Place{stride: [4]int64{row, row, row, row}}
	}
	return l2Place{stride: [4]int64{axD: row, axC: row, axH: row * groups}}
}

// stripPatch is log2 of the columns of a strip: 64 bytes.
const stripPatch = 5

// strips reports whether planar work on rows of w elements goes down one strip of columns after the other: a row is
// wider than a patch of 256 columns and narrower than one of 512, and there are several
// (case candidate_mul_rr_1x375x375, case tile_r_1x8x1x375_reps_113751, case tile_r_1x1x375_reps_13751; not
// case binary_add_1x3x224x224).
func strips(w, rows int64) bool { return w > 1<<squareBudget && w < widePatch && rows > 1 }

// inStrips reports whether the task works on strips.
func (d *draft) inStrips() bool {
	elementwise := d.kind() == td.PlanarOne || d.kind() == td.PlanarTwo
	return d.rowAgain || elementwise && stripped(&d.src[0], &d.src[1], &d.dst)
}

// stripped reports whether planar work that does not reduce takes operands (the last one is the result) in strips.
// Groups, depths and parts of a row are not recorded.
func stripped(operands ...*operand) bool {
	for _, o := range operands {
		if o.buf != nil && (o.swap || o.buf.narrow || o.pix != 0 || o.inter > 1) {
			return false
		}
	}
	out := operands[len(operands)-1].ext
	return strips(out[axW], out[axH]) && max(out[axG], 1)*max(out[axD], 1) == 1
}

// stripTile returns the rows of a tile of such work, 0 for all.
func stripTile(t *target.Table, result *operand, operands int64) int64 {
	rows := (t.L2Bytes - l2Reserve) / (operands * gatheredPatchRow(t, result))
	if rows >= result.ext[axH] {
		return 0
	}
	return max(rows, 1)
}

// gatheredPatchRow is the number of L2 bytes of a row of the patches of all channels, which such a task puts together
// before they leave. Rows of several channels are padded (sources as for strips).
func gatheredPatchRow(t *target.Table, o *operand) int64 {
	all := int64(elemBytes) << min(log2up(max(o.ext[axW], 16)), stripPatch) * o.ext[axC]
	if o.ext[axC] > 1 {
		return all + t.L2Granule
	}
	return all
}

// gatheredPatches is the place where such a task puts the patches together.
func gatheredPatches(t *target.Table, o *operand) l2Place {
	ch := int64(elemBytes) << min(log2up(max(o.ext[axW], 16)), stripPatch)
	all := ch * o.ext[axC]
	return l2Place{stride: [4]int64{all, all, ch, gatheredPatchRow(t, o)}}
}

// rowPad is the padding of a row in L2.
//
// Planar, if channels take at most 64 bytes, or if several are read by a reduction alone (not also by later tasks,
// case norm_layer_norm_ax3_1x8x1x64): two granules if rows would start on one bank
// (case rrmm_bcast_add_1x256x32x32_runtime_1x256x1x1, case reduce_probe_mean_ax3_1x64x1x64), one if on two banks
// (case reduce_probe_max_ax1_2_3_1x128x16x16; not case norm_layer_norm_ax1_2_3_1x64x8x8). A row of an odd number of
// granules gets one (elementwise and reduction cases). None for a reduction of more than 64 single elements
// (case norm_softmax_a3_1x128x1x1; case norm_softmax_a3_1x64x1x1 is padded), nor for one of single rows that later
// tasks read (softmax of rows of 32x1x32 on h14).
//
// Neural: none for wide channels, for channelwise work on a single row, or for copies of part of the banks in units of
// other than eight rows (sums over channels of 1x32x4x4 and rows of 1x64x8x8, inferred); else two granules if rows do
// not start on one bank, the columns of a unit and a granule with a stride
// (case conv_probe_k1_c64_n64_s64_st2_g1_bias1_same, strides over 8x8, 16x16 and 32x32 on h14), three otherwise
// (convolution and activation cases). The channels that a stride reads may be as much wider. A row of one channel that
// is two granules in units of eight rows gets one (case env_bcast_mul_1x64x16x16_runtime_1x1x16x16), and so does a row
// of an even number of granules of bytes (case logical_not_1x1x64x64). An image of at most 8x8 whose eight
// rows are on different banks needs none (case encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_tiny,
// case encoder_conv_pad_c4_n8_k3x3_s1_g1_bias0_p1111_sym).
func rowPad(d *draft, ch, row, height int64) int64 {
	n := row / d.t.L2Granule
	narrow := ch <= narrowChannel*d.t.L2Granule
	pads := narrow || d.t.PadsWideRows || d.readsAlone && d.src[0].ext[axC] > 1
	switch out := d.dst.ext; {
	case d.reduces() && d.src[0].ext[axW]*height*max(d.src[0].ext[axD], 1) == 1 && row > 64*d.t.L2Granule:
		return 0
	case d.kind() == td.PlanarReduce && !d.readsAlone && height == 1 && d.src[0].ext[axW] > 1 && n%2 == 0:
		return 0
	case d.pe != nil && pads && n%(d.t.L2Banks/2) == 0:
		return either[int64](n%d.t.L2Banks == 0, 2, 1) * d.t.L2Granule
	case d.pe != nil && n%2 == 1:
		return d.t.L2Granule
	case d.pe != nil:
		return 0
	case d.bytesOnly() && d.src[0].ext[axC] == 1 && narrow && n%2 == 0:
		return d.t.L2Granule
	case ch > narrowChannel*d.t.L2Granule*d.window.sx && !d.ne.winograd, d.ne.op != td.NEMultiply && height == 1:
		return 0
	case d.t.PadsByUnit && d.shift.max == 0:
		return 0
	case d.t.PadsByUnit && d.ne.op == td.NEPass && n%d.t.L2Banks != 0 && d.shift.max == maxShift && !d.dst.swap:
		return d.t.L2Granule
	case d.ne.op == td.NEPass && n%d.t.L2Banks != 0 && d.shift.max != transposeShift:
		return 0
	case d.ne.op == td.NEMultiply && out[axW] <= d.t.SmallImage && out[axH] <= d.t.SmallImage && d.window.sx == 1 &&
		n*d.t.SmallImage <= d.t.L2Banks, d.fewFolded():
		return 0
	case d.ne.op == td.NEPass && n == 2 && d.src[0].ext[axC] == 1:
		return d.t.L2Granule
	case n%d.t.L2Banks != 0:
		return 2 * d.t.L2Granule
	case d.shift.max > 1 && (d.window.sx > 1 || !d.shift.small &&
		(d.t.PadsByUnit || d.does(td.NEMultiply) && d.shift.min == d.shift.max)):
		// The columns of a unit, and one granule: rows of a unit, of which a stride skips as many as columns, are on
		// different banks. Without a stride on h13 only rows of a long sum, whose units have one shift
		// (case conv_probe_k3_c64_n64_s32_st1_g1_bias1_same).
		pad := align(d.t.WorkUnit>>d.shift.max*elemBytes/d.window.sx, d.t.L2Granule) + d.t.L2Granule
		if d.window.ox > 1 { // a stride along the width alone skips no rows (1x9 on h18g)
			pad *= d.window.sx / d.window.sy
		}
		return pad
	case d.window.sx > 1 && narrow:
		return 2 * d.t.L2Granule
	}
	return 3 * d.t.L2Granule
}

// narrowChannel is the largest number of L2 granules of a channel that counts as narrow: 64 bytes.
const narrowChannel = 4

// bankStep is the least distance in banks between the beginnings of two sources.
const bankStep = 4

// bankApart moves the address of the second source up so that it begins at least bankStep banks after the first, which
// begins at base (case binary_add_1x64x1x1 to case binary_add_1x4096x1x1, case binary_add_1x3x224x224).
func bankApart(t *target.Table, base, at int64) int64 {
	if n := (at - base) / t.L2Granule % t.L2Banks; at > base && n < bankStep {
		return at + (bankStep-n)*t.L2Granule
	}
	return at
}

// shape decides what follows from a draft's own extents: tile, cores, work units or patch, and where its sources are in
// L2 while they pass through.
func (c *schedule) shape(d *draft) error {
	if d.tile == 0 {
		d.tile = max(d.dst.ext[axH], 1)
	}
	if d.ne != nil {
		d.units()
		d.streamRows()
		d.narrowSource(c.t.L2Bytes)
		if d.ne.op != td.NEMultiply {
			d.cores = d.channelCores()
		}
	} else {
		d.planarPatch()
	}
	top := int64(0)
	for k := range 2 {
		if k == 1 && !d.two {
			break
		}
		at := top
		if k == 1 && !d.fetchesPart() {
			at = bankApart(c.t, 0, at)
		}
		top = d.stage(&d.src[k], at)
	}
	if d.reach > c.t.L2Bytes {
		return fmt.Errorf("sources take %d bytes of L2, the limit is %d", d.reach, c.t.L2Bytes)
	}
	switch {
	case d.pe != nil && d.dst.swap:
		d.gather, d.dst.l2 = true, transposedResult(c.t, &d.dst)
	case d.inStrips():
		d.gather, d.dst.l2 = true, gatheredPatches(c.t, &d.dst)
		d.reach += gatheredPatchRow(c.t, &d.dst) * d.tile
	case d.gather:
		d.dst.l2 = d.gathered(c.t)
		d.reach += d.gatheredRow(c.t) * d.tile
	case d.gathersTransposed() && d.reach+transposedRow(c.t, &d.dst)*d.tile <= c.t.L2Bytes:
		d.gather, d.dst.l2 = true, gatheredTransposed(c.t, &d.dst)
		d.reach += transposedRow(c.t, &d.dst) * d.tile
	}
	return nil
}

// fetchesPart reports whether the task itself fetches what it broadcasts, or numbers of channels that are stored in
// rows: source 2 then follows source 1, whatever its bank (11 recorded programs of h15 to h17).
func (d *draft) fetchesPart() bool {
	return d.t.FetchesBroadcast && (d.src[1].swap || d.src[1].flat != [5]bool{})
}

// stage sets the place in L2 of a source that comes by DMA, from at on, and returns where the next source may begin.
func (d *draft) stage(o *operand, at int64) int64 {
	rows := o.rows
	rows = cmp.Or(rows, d.tile)
	ext := o.ext
	for i, one := range o.flat {
		if one {
			ext[i] = 1
		}
	}
	rows = min(rows, ext[axH])
	p, n := l2Layout(d, at, ext, rows, o.cols, o)
	o.staged = n
	// Every element of the tile needs an L2 address.
	reach := p.base + p.stride[axG]*(ext[axG]-1) + p.stride[axD]*(ext[axD]-1) + p.stride[axC]*(ext[axC]-1) +
		p.stride[axH]*(rows-1) + ext[axW]*elemBytes
	if o.swap {
		reach = p.base + n*ext[axG]
	}
	d.reach = max(d.reach, align(reach, 64), p.base+n)
	for i := range p.stride {
		if o.flat[i] && !d.rowAgain && !d.t.FetchesBroadcast {
			p.stride[i] = 0
		}
	}
	o.l2 = p
	return p.base + n
}

func log2up(n int64) int {
	k := 0
	for int64(1)<<k < n {
		k++
	}
	return k
}

// widePatch is the largest number of columns of a planar patch.
const widePatch = 512

// squareBudget is log2 of the pixels of a planar patch of two sources.
const squareBudget = 8

// planarPatch sets the patch of the planar engine: at least 16 columns, and as many rows as keep it within 256 pixels,
// or 512 for one source (elementwise and reduction cases). Work that does not reduce takes 256 columns of rows with
// less than 512. Work on two sources takes 512 columns of others.
func (d *draft) planarPatch() {
	out := d.dst.ext
	w := log2up(max(out[axW], 16))
	budget := squareBudget
	if d.pe.kind == td.PlanarReduce || d.pe.kind == td.PlanarOne {
		budget = 9
	}
	switch {
	case d.inStrips():
		w = min(w, stripPatch)
	case out[axW] >= widePatch && (!d.reduces() || d.two): // case chain_block_d512_s128_proj1
		w, budget = log2up(widePatch), 9
	case d.partRows > 1: // case reduce_probe_mean_ax3_1x1x1x512
		w = min(w, 8-log2up(int64(d.partRows)))
	case d.reduces():
	default:
		w = min(w, squareBudget)
	}
	rows := log2up(max(out[axH], 1))
	if d.kind() == td.PlanarReduceTwo { // rows first (case norm_layer_norm_ax1_2_3_1x8x1x64)
		w = min(w, max(budget-rows, 4))
	}
	h := 0
	if w < budget {
		h = min(budget-w, rows)
	}
	d.patch = [2]int{min(w, budget), h}
}

// wideShift is the unit shift of a 1x1 convolution, or of a copy of several channels to a port, whose rows take several
// work units. It is the shift of the units that cover the fewest columns, and the smallest of equal ones
// (case encoder_conv_idx_c8_n8_k1x1_s1_g8_bias0_valid_pad and case encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_f4
// with 750 columns, case encoder_slice_lastdim with 375; a kernel of two columns and a table over one channel have 0
// there). It is 0 for other tasks.
func wideShift(t *target.Table, d *draft) int {
	w, h := d.dst.ext[axW], d.dst.ext[axH]
	copies := d.copies() && d.dst.ext[axC] > 1 && d.dst.buf.space == outPort
	if !d.does(td.NEMultiply) && !copies || w <= t.WorkUnit || !d.window.alone() || d.dst.swap {
		return 0
	}
	best := 0
	for s := 1; s <= maxShift && 1<<s <= h; s++ {
		if align(w, t.WorkUnit>>s) < align(w, t.WorkUnit>>best) {
			best = s
		}
	}
	return best
}

// narrowUnits reports whether there are several work units side by side, each with less of a row than the 64 bytes that
// DMA moves.
func narrowUnits(t *target.Table, d *draft) bool { return t.WorkUnit>>wideShift(t, d)*elemBytes < 64 }

// units sets how the neural engine folds rows into work units: shift s makes a unit 128 >> s columns by 1 << s rows.
// The largest shift is limited by the columns, the rows and 4. A product, or a sum over channels, with an output of at
// most 8x8 always takes 4 and the small-source mode; one that sums long reductions over folded rows takes its largest
// shift (convolution cases; see longSum).
func (d *draft) units() {
	out, op := d.dst.ext, d.ne.op
	s, unit, rows, lanes := 0, d.unitColumns(), max(out[axH], 1), d.passLanes()
	if d.t.FoldsPasses && rows > 1 && op != td.NEMultiply && d.ne.unicast && d.src[0].ext[axC] > 1 {
		rows *= 2
	}
	for s < maxShift && out[axW] <= unit>>(s+1) && s < log2up(rows) {
		s++
	}
	if d.ne.winograd {
		s = winogradShift(out[axW], rows)
	}
	byColumns := s
	sums := d.sums()
	switch {
	case d.copies() && d.dst.swap && d.src[0].buf.space == scratch && out[axH] > 1 && out[axW] >= d.t.WorkUnit:
		// Rows in L2 that are folded to an image (case chain_block_d512_s64_proj1).
	case d.copies() && d.dst.swap && d.src[0].ext[axC]*out[axH] == 1 && d.t.PlainRow:
		// A single row (products of one row from h15 on).
		s = 0
	case d.copies() && d.dst.swap && (out[axC] <= d.t.SmallImage || d.dst.inter == transposedInter(d.t) ||
		out[axH] > 1 && out[axC] == d.t.Cores && out[axW] == d.t.Cores), lanes > 0 && d.src[0].buf.space != scratch &&
		!d.src[0].buf.narrow:
		// Turned to rows of one granule, or with a granule of channels side by side, or an image of 16 channels and 16
		// columns: sixteen columns per unit, one per core, or eight if there are no more (case matmul_m1_k256_n512_ty1,
		// case matmul_m64_k256_n1024_ty1, case reduce_probe_max_ax2_1x64x8x8, case reduce_probe_sum_ax2_1x128x16x16).
		// A pass that takes several channels of a core at a time takes more columns, unless its rows are in L2
		// (products of 64 and of 128 rows on h14).
		s = min(transposeShift, maxShift-lanes)
		if out[axW] <= d.t.SmallImage && lanes == 0 {
			s = transposeShift + 1
		}
		// At least as large as the columns alone would allow, whatever the rows (case reduce_probe_sum_ax1_1x8x1x64).
		least := log2up(max(out[axH], 1))
		for least < maxShift && out[axW] <= d.t.WorkUnit>>(least+1) {
			least++
		}
		d.shift.min, d.shift.pref = min(least, s), s
		if lanes > 0 { // sums over channels of 64x8x8 and 128x16x16 on h14
			s = max(s, byColumns)
		}
	case d.fewFolded(), d.transposesUnits() && d.src[0].buf.space == scratch:
		d.shift.min, d.shift.pref = s, s
	case d.fewAtOnce():
		s = 1
		if d.streamsKernel() {
			s = maxShift
		}
		d.shift.small, d.shift.min, d.shift.pref = true, s, s
	case d.smallUnits():
		switch {
		case op == td.NESum && !smallWork(d.t, &d.src[0], &d.dst):
			s = 0 // a single row is not folded
		case d.t.FoldsSmall || d.worksLong() && (out[axH] > 1 || !d.window.alone()):
			s = maxShift
		}
		d.shift.small, d.shift.min, d.shift.pref = true, s, s
	case sums && s > 1 && !d.ne.unicast && d.worksLong(), d.t.FoldsPasses && op != td.NEMultiply && !d.dst.swap &&
		out[axC] == 1 && out[axW]*rows > unit:
		d.shift.min, d.shift.pref = s, s
	}
	d.shift.max = max(s, wideShift(d.t, d))
}

// sums reports whether a task sums over channels (not case less_bool_rr_1x64x1x1).
func (d *draft) sums() bool {
	return d.ne.op == td.NEMultiply && d.ne.span <= 1 || d.ne.op == td.NESum && !d.ne.unicast
}

// smallUnits reports whether the task works on its image as a whole (units). Zero-skipping bodies depend on it.
func (d *draft) smallUnits() bool {
	return d.sums() && !d.fewFolded() && !d.streamsKernel() &&
		(smallWork(d.t, &d.src[0], &d.dst) || d.t.SmallRows && d.fewRows())
}

// smallWork reports whether a sum over channels works on an image as a whole. The form of its kernel depends on it.
func smallWork(t *target.Table, src, dst *operand) bool {
	h, w := dst.ext[axH], dst.ext[axW]
	return w <= t.SmallImage && h <= t.SmallImage && (h == 1 || src.ext[axC] <= smallChannels)
}

// fewAtOnce reports whether a product multiplies rows as a small source (products of 1, 2 and 8 rows on h18; not of 64
// rows).
func (d *draft) fewAtOnce() bool {
	return d.t.SmallSources && d.fewRows() && d.dst.ext[axW] <= d.t.SmallImage
}

// fewRows reports whether a product multiplies no more rows, which are columns of its source, than a small image has
// pixels (products of 64 rows on h14, h15 and h16; not of 128), or a sum over channels has no more columns (softmax
// over channels of 8x1x64 and 32x1x32 on h14; not of 8x1x128).
func (d *draft) fewRows() bool {
	return (d.does(td.NEMultiply) || d.does(td.NESum)) && d.window.alone() && d.dst.ext[axH] == 1 &&
		d.dst.ext[axW] <= d.t.SmallImage*d.t.SmallImage
}

// streamsKernel reports whether the kernel of a product is larger than kernel memory, so that it streams past the rows.
// They are not folded then (case matmul_m1_k1024_n1024_ty1; not a kernel of 1 MiB).
func (d *draft) streamsKernel() bool {
	outputs := (d.dst.ext[axC] + d.t.Cores - 1) / d.t.Cores
	return d.dst.swap && d.src[0].ext[axC]*outputs*elemBytes > d.t.KernelBytes
}

// worksLong reports whether a sum over folded rows reads each element of its source, or its kernel, for so long that it
// takes its largest shift. A step of the window uses an element that many times less
// (case conv_probe_k3_c256_n256_s32_st2_g1_bias0_same). The outputs of all groups count
// (case conv_known_k3_c256_n64_s16_st1_g4_bias1_same).
func (d *draft) worksLong() bool {
	taps, step := d.window.kw*d.window.kh, d.window.sx*d.window.sy
	terms, uses := d.src[0].ext[axC]*taps, d.groups()*d.dst.ext[axC]*d.window.ox*taps/step
	if o := &d.src[0]; o.buf.space == scratch && o.buf.asImage() != nil { // loaded (loadedForGroups)
		uses = longSum
	}
	return terms >= longSum && (uses >= longSum || terms >= manyTerms)
}

// streamRows makes a tile of the rows of one work unit if a product without a window over rows folds rows into units
// and its source does not fit L2 (case conv_probe_k1_c256_n256_s64_st1_g1_bias0_same,
// case conv_probe_k1_c256_n256_s64_st2_g1_bias0_same).
func (d *draft) streamRows() {
	rows := int64(1) << d.shift.max
	if d.does(td.NEMultiply) && rows > 1 && rows < d.tile && d.tile < d.dst.ext[axH] && d.window.kh <= d.window.sy {
		d.tile, d.src[0].rows = rows, rows*d.window.sy
	}
}

// narrowSource halves the columns of a unit of a product with constants whose source would take half of L2, and must do
// so if it would take all (products of 256 and 512 rows with 4096 and with 8192 elements, public records; dynamic
// matmuls keep whole units).
func (d *draft) narrowSource(l2 int64) {
	in := d.src[0].ext
	if !d.does(td.NEMultiply) || d.kernel != nil && d.kernel.rows != nil || !d.window.alone() ||
		d.src[0].buf.layout == largeMatrix || in[axH] > 1 || in[axW] <= d.t.WorkUnit/2 || d.shift.max > 0 {
		return
	}
	staged := in[axC] * align(min(in[axW], d.t.WorkUnit)*elemBytes, d.t.L2Granule)
	if staged < l2/2 || in[axW] <= d.t.WorkUnit && staged <= l2-l2Reserve {
		return
	}
	d.shift.max, d.shift.pref = 1, 1
	if staged > l2-l2Reserve {
		d.shift.min, d.src[0].cols = 1, d.t.WorkUnit/2
	}
}

// channelCores is the number of cores of a channelwise neural task: as many as the stored result has channels
// (activation, copy and transposition cases).
func (d *draft) channelCores() int {
	c := d.dst.ext[axC]
	if d.dst.swap && d.passLanes() == 0 { // at least eight columns, as a unit has
		c = max(d.dst.ext[axW], d.t.SmallImage)
	}
	return weights.ActiveCores(int(c))
}
