package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

// convGeometry is a convolution over rows and columns; one dimension is a
// single row.
type convGeometry struct {
	kh, kw         int64 // taps, including dilation
	sy, sx         int64
	padTop, padLft int64
	hout, wout     int64
	groups         int64
	ox             int64 // columns of the result that a task computes at a time; wout counts groups of them
}

// geometry reads a convolution of rank 3 or 4 as one over rows and columns.
func geometry(op *ir.Op) (g convGeometry, err error) {
	a, err := ir.ConvAttrs(op)
	if err != nil {
		return g, err
	}
	w := op.Arg(ir.ParamWeight).Type.Shape
	out := op.Results[0].Type.Shape
	n := len(a.Strides)
	if n != 1 && n != 2 {
		return g, target.Refuse(target.RuleSpatialRank, "spatial dimensions", n, "1 or 2",
			fmt.Sprintf("convolution over %d dimensions; the engine supports 1 or 2", n))
	}
	k := func(i int) int64 { return (w[2+i]-1)*a.Dilations[i] + 1 }
	g = convGeometry{kh: 1, sy: 1, hout: 1, ox: 1, groups: a.Groups}
	g.kw, g.sx, g.padLft, g.wout = k(n-1), a.Strides[n-1], a.PadBefore[n-1], out[len(out)-1]
	if n == 2 {
		g.kh, g.sy, g.padTop, g.hout = k(0), a.Strides[0], a.PadBefore[0], out[2]
	}
	return g, nil
}

func acceptConv(op *ir.Op, l *limits) error {
	if !op.Arg(ir.ParamWeight).IsConst() {
		return unknownNow(ir.ParamWeight, "the weight")
	}
	if b := op.Arg(ir.ParamBias); b != nil && !b.IsConst() {
		return unknownNow(ir.ParamBias, "the bias")
	}
	if err := l.tensors(op, ir.ParamWeight, ir.ParamBias); err != nil {
		return err
	}
	g, err := geometry(op)
	if err != nil {
		return err
	}
	rowTaps := int64(0)
	if g.kh == 1 {
		rowTaps = g.kw
	}
	for _, c := range []struct {
		rule, what string
		have, most int64
	}{
		{rule: target.RuleKernel, what: "kernel width", have: g.kw, most: int64(l.t.MaxKernelW)},
		{rule: target.RuleKernel, what: "kernel height", have: g.kh, most: int64(l.t.MaxKernelH)},
		{rule: target.RuleKernel, what: "width of a kernel of one row", have: rowTaps, most: int64(l.t.MaxRowKernel)},
		{rule: target.RuleStride, what: "stride along the width", have: g.sx, most: int64(l.t.MaxStride)},
		{rule: target.RuleStride, what: "stride along the height", have: g.sy, most: int64(l.t.MaxStride)},
		{rule: target.RulePadding, what: "padding before the first column", have: g.padLft, most: int64(l.t.MaxPad)},
		{rule: target.RulePadding, what: "padding before the first row", have: g.padTop, most: int64(l.t.MaxPad)},
		{rule: target.RuleGroups, what: "groups", have: g.groups, most: int64(l.t.MaxGroups)},
	} {
		if c.have > c.most {
			return past(c.rule, c.what, c.have, c.most)
		}
	}
	if err := unrecordedWidth(op, l.t, &g); err != nil {
		return err
	}
	w := op.Arg(ir.ParamWeight).Type.Shape
	row := w[1] * g.kh * g.kw * elemBytes
	if k := (&weights.Kernel{In: int(w[1]), Groups: 1, KH: int(g.kh), KW: int(g.kw)}); g.rewrites(l.t, op, k) {
		row = int64(k.RewrittenBytes(1))
	}
	if row > l.t.KernelBytes {
		return target.Refuse(target.RuleKernelBytes, "coefficient bytes of one output", row, l.t.KernelBytes,
			fmt.Sprintf("one output takes %d bytes of coefficients, kernel memory holds %d", row, l.t.KernelBytes))
	}
	x := op.Arg(ir.ParamX).Type.Shape
	rows := int64(1)
	if len(x) == 4 {
		rows = x[2]
	}
	if g.wide(l.t) {
		g = g.pairs()
	}
	g, rows, width := g.padded(rows, x[len(x)-1])
	if width > int64(l.t.MaxWidth) || rows > int64(l.t.MaxHeight) {
		return target.Refuse(target.RuleExtent, "rows and columns with their padding", fmt.Sprintf("%d, %d", rows,
			width), fmt.Sprintf("%d, %d", l.t.MaxHeight, l.t.MaxWidth),
			fmt.Sprintf("the image padded to %d rows by %d columns is beyond the limits %d and %d", rows, width,
				l.t.MaxHeight, l.t.MaxWidth))
	}
	if cols, need, most := g.columns(l.t, x[1], width); need > most {
		return target.Refuse(target.RuleWorkingSet, "L2 bytes of a window's rows", need, most,
			fmt.Sprintf("%d channels of %d rows by %d columns take %d bytes of L2, the limit is %d", x[1], g.kh,
				(cols-1)*g.sx+g.kw, need, most))
	}
	return nil
}

// columns returns the number of columns of the result that a task computes, so that the source rows for one row of the
// result, of all channels, fit L2: all, or a multiple of 32. need is the size of these rows in bytes, more than most if
// not even 32 columns fit.
func (g *convGeometry) columns(t *target.Table, channels, width int64) (cols, need, most int64) {
	most = t.L2Bytes - l2Reserve
	cols = g.wout
	for cols > 32 && g.rowBytes(t, channels, (cols-1)*g.sx+g.kw) > most {
		cols = max(align(cols/2, 32), 32)
	}
	return cols, g.rowBytes(t, channels, min((cols-1)*g.sx+g.kw, width)), most
}

// l2Reserve is the part of L2 that a rule leaves free beside the sources of a task.
const l2Reserve = 4096

// rowBytes returns the bytes of L2 for the source rows of one result row.
func (g *convGeometry) rowBytes(t *target.Table, channels, width int64) int64 {
	return (channels*align(width*elemBytes, t.L2Granule) + maxRowPad(t)) * g.kh
}

func lowerConv(b *builder, op *ir.Op, x *view) error {
	g, err := geometry(op)
	if err != nil {
		return err
	}
	e, err := b.epilogueOf(op)
	if err != nil {
		return err
	}
	dst := b.resultOf(e.out)
	xi, di := asImage(x), asImage(dst)
	wt := op.Arg(ir.ParamWeight)
	k := b.store(&weights.Kernel{
		Out: int(wt.Type.Shape[0]), In: int(wt.Type.Shape[1] * g.groups), KH: int(g.kh), KW: int(g.kw),
		Groups: int(g.groups), W: wt.Const.Data, Table: e.lut(),
	}, wt.Const)
	g.rewrites(b.t, op, k)
	if !b.trial {
		k.W = dilated(op)
	}
	if bias := op.Arg(ir.ParamBias); bias != nil {
		k.Bias = constHalves(bias.Const)
	}
	e.terms = wt.Type.Elems() / wt.Type.Shape[0]
	if g.wide(b.t) {
		return b.wideConv(xi, di, k, &g, &e)
	}
	return b.convolveImages(xi, di, k, &g, &e)
}

// convolveImages emits the tasks of each image in turn.
func (b *builder) convolveImages(xi, di *view, k *weights.Kernel, g *convGeometry, e *epilogue) error {
	for n := range xi.dims[0] {
		if b.full() {
			break
		}
		if err := b.convolve(xi.slice(0, n, 1, 1), di.slice(0, n, 1, 1), k, g, e); err != nil {
			return err
		}
	}
	return nil
}

// asImage views a tensor of rank 3 or 4 as batch, channels, rows, columns.
func asImage(s *view) *view {
	if len(s.dims) != 3 {
		return s
	}
	v := *s
	v.dims = []int64{s.dims[0], s.dims[1], 1, s.dims[2]}
	v.stride = []int64{s.stride[0], s.stride[1], s.stride[1], s.stride[2]}
	return &v
}

// dilated returns the weight bytes with zeros between the taps of a dilated
// kernel, or the constant's own bytes.
func dilated(op *ir.Op) []byte {
	a, err := ir.ConvAttrs(op)
	w := op.Arg(ir.ParamWeight)
	if err != nil {
		return w.Const.Data
	}
	plain := true
	for _, d := range a.Dilations {
		plain = plain && d == 1
	}
	if plain {
		return w.Const.Data
	}
	s := w.Type.Shape
	kh, kw, dh, dw := int64(1), s[len(s)-1], int64(1), a.Dilations[len(a.Dilations)-1]
	if len(s) == 4 {
		kh, dh = s[2], a.Dilations[0]
	}
	eh, ew := (kh-1)*dh+1, (kw-1)*dw+1
	out := make([]byte, s[0]*s[1]*eh*ew*elemBytes)
	for i := range s[0] * s[1] {
		for y := range kh {
			for x := range kw {
				copy(out[((i*eh+y*dh)*ew+x*dw)*elemBytes:][:elemBytes], w.Const.Data[((i*kh+y)*kw+x)*elemBytes:])
			}
		}
	}
	return out
}

// convolve emits the tasks of one image, divided by outputs or groups so that kernels stay resident, and by columns so
// that the source rows of a tile fit L2.
func (b *builder) convolve(x, dst *view, k *weights.Kernel, g *convGeometry, e *epilogue) error {
	if m := g.apart(x.dims[2], x.w()); m != (margin{}) {
		v, _, w := g.padded(x.dims[2], x.w())
		depthwise := k.Groups == k.In && k.Out == k.In && !paired(b.t, &v)
		whole := v.rowBytes(b.t, x.dims[1], w) <= b.t.L2Bytes-l2Reserve && (k.Groups == 1 || depthwise)
		padded, err := b.shift(x, m, whole)
		if err != nil {
			return err
		}
		return b.convolve(padded, dst, k, &v, e)
	}
	if need := g.rowBytes(b.t, x.dims[1], x.w()); need <= b.t.L2Bytes-l2Reserve {
		// Without a division by columns the whole width is read, including columns that no step of the stride reaches
		// (recorded for 1x1 kernels with stride 2).
		return b.convolveColumns(x, dst, k, g, e)
	}
	cols, need, most := g.columns(b.t, x.dims[1], x.w())
	if need > most {
		return fmt.Errorf("%d channels of %d rows by %d columns do not fit L2", x.dims[1], g.kh, (cols-1)*g.sx+g.kw)
	}
	for o := int64(0); o < g.wout; o += cols {
		n := min(cols, g.wout-o)
		first := o*g.sx - g.padLft
		part := *g
		part.padLft = max(-first, 0)
		begin := max(first, 0)
		end := min(first+(n-1)*g.sx+g.kw, x.w())
		if end <= begin { // all of it is padding: one column must be read
			begin = min(begin, x.w()-1)
			end = begin + 1
		}
		part.wout = n
		in, out := x.slice(3, begin, end-begin, 1), dst.slice(3, o*g.ox, n*g.ox, 1)
		if err := b.convolveColumns(in, out, k, &part, e); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) convolveColumns(x, dst *view, k *weights.Kernel, g *convGeometry, e *epilogue) error {
	pixels := int(g.hout * g.wout)
	w := g.window()
	switch {
	case k.Groups == 1:
		slices, skip, err := b.cut(k, g, pixels)
		if err != nil {
			return err
		}
		// case conv_probe_k3_c128_n512_s16_st2_g1_bias0_same, case conv_probe_k1_c1024_n512_s16_st2_g1_bias0_same
		small := g.hout <= 8 && g.wout <= 8
		for i := len(slices) - 1; i >= 0; i-- { // recorded order: last first
			s := slices[i]
			var p weights.Plan
			switch {
			case b.t.RoundsByMemory:
				p, err = weights.PlanRounds(k, s.First, s.Count, k.RoundSize(b.winograd(k, g)))
			case len(slices) == 1:
				p, err = weights.PlanDense(k.Out, small)
			default:
				p, err = weights.PlanSlice(s)
			}
			if err != nil {
				return err
			}
			if skip && !k.Sparse && len(slices) > 1 && !b.t.RoundsByMemory {
				// groups of the whole kernel (case conv_probe_k3_c256_n256_s32_st2_g1_bias0_same)
				whole, err := weights.PlanDense(k.Out, small)
				if err != nil {
					return err
				}
				p.OCGSize = max(p.OCGSize, whole.OCGSize)
			}
			b.convTask(x, dst.slice(1, int64(s.First), int64(s.Count), 1), p, k, g, e, 1, skip)
		}
	case k.Groups == k.In && k.Out == k.In && paired(b.t, g):
		return b.pairedConv(x, dst, k, g, e)
	case k.Groups == k.In && k.Out == k.In:
		p, err := weights.PlanDepthwise(k.Out)
		if err != nil {
			return err
		}
		b.convTask(x, dst, p, k, g, e, 1, skips(&w, k))
	default:
		return b.groupedConv(x, dst, k, g, e, pixels)
	}
	return nil
}

// cut divides the outputs of a dense kernel into tasks, and reports whether those read it without its zeros.
func (b *builder) cut(k *weights.Kernel, g *convGeometry, pixels int) (slices []weights.Slice, skip bool, err error) {
	w := g.window()
	if skips(&w, k) && !k.Sparse && !k.Rewritten() {
		if slices, err = weights.CutSkipping(k, pixels); err != nil || slices != nil {
			return slices, true, err
		}
	}
	if b.t.RoundsByMemory {
		slices, err = weights.CutResident(k, pixels)
	} else {
		slices, err = k.Cut(pixels, b.t.KernelStream)
	}
	return slices, k.Sparse || k.Rewritten(), err
}

// groupedConv emits a grouped convolution in runs of groups whose kernels stay
// resident together.
func (b *builder) groupedConv(x, dst *view, k *weights.Kernel, g *convGeometry, e *epilogue, pixels int) error {
	ing, outg := k.In/k.Groups, k.Out/k.Groups
	perGroup := align(int64(k.PlaneBytes(max(1, outg/int(b.t.Cores)+1))), 64)
	run := k.Groups
	if most := b.kernelMemory(k, pixels); perGroup*int64(run) > most {
		run = int(max(1, most/perGroup))
		tasks := (k.Groups + run - 1) / run
		run = (k.Groups + tasks - 1) / tasks
	}
	w := g.window()
	if run == 1 {
		var err error
		if x, err = b.loadedForGroups(x, k, g, pixels); err != nil {
			return err
		}
	}
	// Runs of equal length, the last first (case conv_probe_k3_c512_n512_s16_st1_g4_bias0_same).
	for first := (k.Groups - 1) / run * run; first >= 0; first -= run {
		n := min(run, k.Groups-first)
		sub := *k
		sub.Groups, sub.In, sub.Out = n, n*ing, n*outg
		per := len(k.W) / k.Groups
		sub.W = k.W[first*per : (first+n)*per]
		if k.Bias != nil {
			sub.Bias = k.Bias[first*outg : (first+n)*outg]
		}
		if k.Scales != nil {
			sub.Scales = k.Scales[first*outg : (first+n)*outg]
		}
		xs := x.slice(1, int64(first*ing), int64(n*ing), 1)
		ds := dst.slice(1, int64(first*outg), int64(n*outg), 1)
		b.shares[&sub] = b.shares[k] // all are slices of one kernel
		if n == 1 {
			if err := b.convolveColumns(xs, ds, &sub, g, e); err != nil {
				return err
			}
		} else {
			p, err := weights.PlanGrouped(sub.Out, n)
			if b.t.RoundsByMemory {
				p, err = weights.PlanRounds(&sub, 0, sub.Out, sub.RoundSize(b.winograd(&sub, g)))
			}
			if err != nil {
				return err
			}
			b.convTask(xs, ds, p, &sub, g, e, int64(n), skips(&w, k))
		}
		b.shares[k] = b.shares[&sub]
	}
	return nil
}

// loadedForGroups returns the image x in L2, into which a pass copies all of it, if several tasks read each group
// because its kernel is cut (case conv_probe_k3_c1024_n1024_s16_st1_g4_bias1_same); else x. Larger images are fetched
// group by group (modelled).
func (b *builder) loadedForGroups(x *view, k *weights.Kernel, g *convGeometry, pixels int) (*view, error) {
	one := *k
	one.Groups, one.In, one.Out = 1, k.In/k.Groups, k.Out/k.Groups
	slices, _, err := b.cut(&one, g, pixels)
	row := x.dims[1]*align(x.w()*elemBytes, b.t.L2Granule) + maxRowPad(b.t)
	if err != nil || len(slices) == 1 || x.dims[2] == 1 || x.inter > 1 || x.pix != 0 ||
		2*x.dims[2]*row > b.t.L2Bytes-l2Reserve {
		return x, err
	}
	img := b.temp(x.dims)
	if m := img.buf.image; m != nil {
		m.whole, m.optional = false, false
	}
	b.emit(copying(), imageOperand(x, 1), nil, imageOperand(img, 1), 0)
	return img, nil
}

// convTask emits one multiply task: image x to image dst, both [1, C, H, W].
func (b *builder) convTask(x, dst *view, p weights.Plan, k *weights.Kernel, g *convGeometry, e *epilogue,
	groups int64, skip bool) {
	d := e.multiply()
	d.window = g.window()
	d.ne.terms, d.ne.winograd = e.terms, b.winograd(k, g)
	src, out := imageOperand(x, groups), imageOperand(dst, groups)
	out.ext[axW] /= g.ox
	if groups == 1 { // of the whole result, even if the task writes only a slice of it (recorded)
		out.stride[axG], out.stride[axD] = dst.stride[0], dst.stride[0]
	} else {
		src.stride[axD], out.stride[axD] = x.stride[0], dst.stride[0]
	}
	d.ne.unicast = p.Form == weights.Depthwise
	src.cols = (b.t.WorkUnit-1)*g.sx + g.kw // the columns of a unit and of its taps
	tile := b.tileRows(d, src, out, g.kh, g.sy, b.t.L2Bytes-l2Reserve)
	b.emit(d, src, nil, out, tile)
	b.stream(d, p, k, skip)
}

// window returns the geometry of a task.
func (g *convGeometry) window() window {
	return window{kw: g.kw, kh: g.kh, sx: g.sx, sy: g.sy, px: g.padLft, py: g.padTop, ox: g.ox}
}

// imageOperand reads an image [1, C, H, W] as groups of channels.
func imageOperand(s *view, groups int64) *operand {
	c := s.dims[1] / groups
	blocks := c / max(s.inter, 1)
	return &operand{
		buf: s.buf, off: s.off, pix: s.pix, inter: s.inter,
		ext:    [5]int64{groups, 1, c, s.dims[2], s.dims[3]},
		stride: [4]int64{blocks * s.stride[1], groups * blocks * s.stride[1], s.stride[1], s.stride[2]},
	}
}

// channels narrows an image [1, C, H, W] to n channels from first; both are
// multiples of what is interleaved.
func (s *view) channels(first, n int64) *view {
	return s.slice(1, first/max(s.inter, 1), n, 1)
}

// tileRows returns the rows of the result in a tile of a neural task over windows of kh rows, 0 for all. The source
// rows of a tile, in the columns of a work unit, and the result if it is assembled in L2, fit in most bytes of L2. It
// also sets the number of source rows that are on chip at once.
func (b *builder) tileRows(d *draft, src, out *operand, kh, sy, most int64) int64 {
	row := src.ext[axG]*max(src.ext[axD], 1)*src.ext[axC]*
		align(min(src.ext[axW], src.unitColumns(b.t))*elemBytes, b.t.L2Granule) + maxUnitPad(b.t)
	if d.dst = *out; narrowUnits(b.t, d) {
		d.gather = true
		row += d.gatheredRow(b.t)
	}
	src.rows = min(most/row, src.ext[axH])
	if src.rows == src.ext[axH] {
		return 0
	}
	return max((src.rows-kh)/sy+1, 1)
}

// unitColumns is the number of columns of a neural source that are on chip at once.
func (o *operand) unitColumns(t *target.Table) int64 {
	if o.cols != 0 {
		return o.cols
	}
	return t.WorkUnit
}
