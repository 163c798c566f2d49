package lower

import (
	"github.com/zinc-compiler/zinc/lower/td"
)

// Rules for words that follow from the shape of a task alone. Each names the
// recorded cases it was read from (oracles of the h13 families).

// granule is the unit of L2 addresses; banks many of them lie side by side.
const (
	granule = 16
	banks   = 64
)

// smallImage is the most rows and columns of an image that the engine works on as
// a whole.
const smallImage = 8

// turnShift is the unit shift of a turn to such an image.
const turnShift = 3

// maxShift is the largest unit shift.
const maxShift = 4

// workUnit is the pixels that the neural engine takes at a time.
const workUnit = 128

// l2Layout lays a source that passes through L2 out from base: elements, then
// channels, then depth, then rows, groups one after the other in the same place.
// A neural source keeps one work unit of a row, or cols where that is not 0. Rows get padding so that the
// rows of a patch fall on different banks. It returns the bytes of one group,
// as the address of what comes behind it shows.
func l2Layout(t *td.Task, base int64, ext [5]int64, rows, cols int64, swap bool) (l2Place, int64) {
	c, w := ext[axC], ext[axW]
	if swap {
		c, w = w, c
	}
	neural := t.Get(td.PlanarType) == 0
	if neural {
		if cols == 0 {
			cols = workUnit
		}
		w = min(w, cols)
	}
	ch := align(w*elemBytes, granule)
	depth := ch * c
	whole := depth * ext[axD]
	row := whole + rowPad(t, neural, ch, whole, ext[axH])
	if neural && narrowUnits(t) {
		row = whole + narrowPad
	}
	return l2Place{base, [4]int64{whole, depth, ch, row}}, row * rows
}

// Padding of rows in L2 of a source in narrow units and of the result that is put
// together there (encoder_conv_idx_c8_n8_k1x1_s1_g8_bias0_valid_pad, encoder_conv_pad).
const (
	narrowPad   = 5 * granule
	gatheredPad = 8 * granule
)

// maxUnitPad is the most that a row of a neural source is padded.
const maxUnitPad = narrowPad

// gatheredRow is the L2 bytes of a row of a result that is put together there,
// channel after channel of a work unit.
func gatheredRow(o *operand) int64 {
	return o.ext[axG]*o.ext[axC]*align(min(o.ext[axW], workUnit)*elemBytes, granule) + gatheredPad
}

// gatheredUnits marks the result of a task in narrow units: they are put together
// to rows in L2.
func (b *builder) gatheredUnits(t *td.Task, o *operand) {
	ch := align(min(o.ext[axW], workUnit)*elemBytes, granule)
	all := ch * o.ext[axC]
	t.Set(td.ResBfrMode, 0).Set(td.DstL2BfrMode, 0)
	t.Set(td.L2ResCh, int(ch)).Set(td.L2ResRow, int(gatheredRow(o))).Set(td.L2ResDepth, int(all)).
		Set(td.L2ResGroup, int(all))
	b.l2use[len(b.l2use)-1] += gatheredRow(o) * int64(t.Int(td.TileHeight))
}

// rowPad is the padding of a row in L2. Planar: two granules where channels are
// narrow and rows would start on one bank, one where the row is an odd number of
// granules, or an even one of several narrow channels (elementwise and reduction
// cases, norm_layer_norm_ax2_3_1x32x4x4,
// reduce_probe_mean_ax3_1x32x4x4). Neural: none for wide channels, nor
// for channelwise work on a single row, nor for copies of part of the banks in
// units of other than eight rows (sums over channels of 1x32x4x4 and rows of
// 1x64x8x8, inferred); else two granules with a stride or with
// rows that do not start on one bank, three otherwise (convolution and
// activation cases). An image of at most 8x8 whose eight rows lie on different
// banks needs none (encoder_conv_pad_.._tiny, .._sym).
func rowPad(t *td.Task, neural bool, ch, row, height int64) int64 {
	n := row / granule
	switch {
	case !neural && ch <= 2*granule && n%banks == 0:
		return 2 * granule
	case !neural && (n%2 == 1 || ch <= 2*granule && t.Int(td.Cin) > 1):
		return granule
	case !neural:
		return 0
	case ch > 4*granule, t.Get(td.NEOp) != neMultiply && height == 1:
		return 0
	case t.Get(td.NEOp) == neCopy && n%banks != 0 && t.Int(td.ShMax) != turnShift:
		return 0
	case t.Get(td.NEOp) == neMultiply && t.Int(td.Wout) <= smallImage && t.Int(td.Hout) <= smallImage &&
		t.Get(td.Sx) == 1 && n*smallImage <= banks:
		return 0
	case t.Get(td.Sx) > 1, n%banks != 0:
		return 2 * granule
	}
	return 3 * granule
}

// bankStep is how many banks apart two sources begin at least.
const bankStep = 4

// bankApart moves the second source's address up to where it begins at least
// bankStep banks behind the first, which begins at base (binary_add of images of
// one pixel with 64 to 4096 channels, binary_add_1x3x224x224).
func bankApart(base, at int64) int64 {
	if n := (at - base) / granule % banks; at > base && n < bankStep {
		return at + (bankStep-n)*granule
	}
	return at
}

// patch sets the planar engine's patch: at least 16 columns, and as many rows
// as keep it within 256 pixels, 512 for a reduction of one source (elementwise
// and reduction cases).
func patch(t *td.Task, ext [5]int64) {
	w := log2up(max(ext[axW], 16))
	budget := 8
	if t.Get(td.PlanarType) == peReduce {
		budget = 9
	}
	h := 0
	if w < budget {
		h = min(budget-w, log2up(max(ext[axH], 1)))
	}
	t.Set(td.PatchWidth, min(w, budget)).Set(td.PatchHeight, h)
}

// wideShift is the unit shift of a 1x1 convolution whose rows take several work
// units: that of the units which cover the least area, the least of equal ones
// (encoder_conv_idx_c8_n8_k1x1_s1_g8_bias0_valid_pad, encoder_conv_pad; a kernel
// of two columns has 0 there). It is 0 for other tasks.
func wideShift(t *td.Task) int {
	w, h := int64(t.Int(td.Wout)), int64(t.Int(td.Hout))
	if t.Get(td.NEOp) != neMultiply || w <= workUnit || t.Get(td.Kw) != 1 || t.Get(td.Kh) != 1 || t.Get(td.Sx) != 1 ||
		t.Get(td.Sy) != 1 || t.On(td.SwapNE) {
		return 0
	}
	best, least := 0, int64(0)
	for s := range maxShift + 1 {
		if area := align(w, workUnit>>s) * align(h, 1<<s); least == 0 || area < least {
			best, least = s, area
		}
	}
	return best
}

// narrowUnits reports whether several work units lie side by side, each with less
// of a row than the 64 bytes that DMA moves.
func narrowUnits(t *td.Task) bool { return workUnit>>wideShift(t)*elemBytes < 64 }

// units sets how the neural engine folds rows into work units: shift s makes a
// unit 128 >> s columns by 1 << s rows. The largest shift is bounded by the
// columns, the rows and 4; a product, or a sum over channels, with an output of at most 8x8 takes 4
// throughout and the small-source mode; one that sums long reductions over
// folded rows asks for its largest shift (convolution cases; the threshold of
// the last, between 64 and 576 terms, is modelled).
func units(t *td.Task, out [5]int64) {
	s := 0
	for s < maxShift && out[axW] <= workUnit>>(s+1) && s < log2up(max(out[axH], 1)) {
		s++
	}
	multiply := t.Get(td.NEOp) == neMultiply || t.Get(td.NEOp) == neSum && !t.On(td.UnicastEn)
	turn := t.Get(td.NEOp) == neCopy && t.Get(td.Nonlinear) == 0 && t.On(td.SwapNE)
	switch {
	case turn && out[axC] <= smallImage:
		// Turned to rows of one granule: sixteen columns a unit, one a core, or eight
		// where there are no more (matmul_m1_k256_n512, matmul_m64_k256_n1024,
		// reduce_probe_max_ax2_1x64x8x8).
		s = turnShift
		if out[axW] <= smallImage {
			s = turnShift + 1
		}
		t.Set(td.ShMin, min(log2up(max(out[axH], 1)), s)).Set(td.ShPref, s)
	case multiply && out[axW] <= 8 && out[axH] <= 8:
		t.SetBool(td.SmallSource, true).Set(td.ShMin, 4).Set(td.ShPref, 4)
		s = 4
	case multiply && s > 1 && !t.On(td.UnicastEn) && t.Get(td.Cin)*t.Get(td.Kw)*t.Get(td.Kh) > 64:
		t.Set(td.ShMin, s).Set(td.ShPref, s)
	}
	t.Set(td.ShMax, max(s, wideShift(t)))
}
