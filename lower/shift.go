package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// A window of a task contains at least one element of the image. If the padding of a convolution would create a window
// without any, a separate task pads the image first: it moves it by a channelwise kernel of a single 1.0, stored as
// masks (recorded for a padding of one column before a 1x1 kernel,
// case encoder_conv_pad_c8_n8_k1x1_s1_g8_bias0_p0010_f4; a padding below the kernel's extent, on either side or both,
// stays with the convolution in every recorded case).

// margin is a padding of the two image axes, rows and columns.
type margin struct{ top, bottom, left, right int64 }

// apart returns the padding that the convolution cannot have on an image of h rows and w columns: all of it if one
// window along either axis would be outside the image, else none.
func (g *convGeometry) apart(h, w int64) margin {
	m := margin{
		top: g.padTop, bottom: max((g.hout-1)*g.sy+g.kh-g.padTop-h, 0),
		left: g.padLft, right: max((g.wout-1)*g.sx+g.kw-g.padLft-w, 0),
	}
	if m.top < g.kh && m.bottom < g.kh && m.left < g.kw && m.right < g.kw {
		return margin{}
	}
	return m
}

// padded returns the convolution of the image that apart's padding has been
// added to, and that image's rows and columns.
func (g *convGeometry) padded(h, w int64) (convGeometry, int64, int64) {
	m := g.apart(h, w)
	v := *g
	if m != (margin{}) {
		v.padTop, v.padLft = 0, 0
	}
	return v, h + m.top + m.bottom, w + m.left + m.right
}

// step splits off the padding that one task can add: a kernel of k taps moves the image by at most k-1 elements on both
// sides together.
func step(before, after *int64, k int) (p, q int64) {
	p = min(*before, int64(k-1))
	q = min(*after, int64(k-1)-p)
	*before, *after = *before-p, *after-q
	return p, q
}

// shift emits the tasks that pad an image [1, C, H, W] and returns the padded one. whole reports that its reader reads
// all channels and columns at once, so that channels may be interleaved.
func (b *builder) shift(x *view, m margin, whole bool) (*view, error) {
	for m != (margin{}) {
		var p margin
		p.top, p.bottom = step(&m.top, &m.bottom, b.t.MaxKernelH)
		p.left, p.right = step(&m.left, &m.right, shiftColumns(b.t))
		dims := []int64{1, x.dims[1], x.dims[2] + p.top + p.bottom, x.w() + p.left + p.right}
		dst := b.padTarget(x, dims, whole && m == (margin{}))
		if err := b.shiftTask(x, dst, p); err != nil {
			return nil, err
		}
		x = dst
	}
	return x, nil
}

// padTarget returns the place of a padded image: rows of all channels in L2 if it can stay there, else scratch with
// interleaved channels.
func (b *builder) padTarget(x *view, dims []int64, whole bool) *view {
	s := b.temp(dims)
	switch {
	case !whole:
	case s.buf.size <= b.t.L2Bytes/2:
		if s.buf.image == nil {
			s.buf.image = imageOf(dims)
		}
		s.buf.image.optional = false
		s.buf.backed = x.buf.space == inPort
	default:
		n := int64(1)
		for n < imageInterleave && dims[1]%(2*n) == 0 {
			n *= 2
		}
		if n == 1 {
			break
		}
		row := rowBytes(n * dims[3])
		plane := row * dims[2]
		s.inter = n
		s.stride = []int64{plane * dims[1] / n, plane, row, elemBytes}
		s.buf = &buffer{space: scratch, size: s.stride[0], def: -1}
	}
	return s
}

// shiftTask emits the tasks that pad an image by what one kernel can add: one, or several over the channels if the rows
// of a window would not fit L2.
func (b *builder) shiftTask(x, dst *view, p margin) error {
	kh, kw := p.top+p.bottom+1, p.left+p.right+1
	cols := min(b.t.WorkUnit+kw-1, x.w())
	most := b.t.L2Bytes - l2Reserve
	unit := align(cols*elemBytes, b.t.L2Granule)
	run := x.dims[1]
	if need := kh * (run*unit + maxRowPad(b.t)); need > most {
		run = (most/kh - maxRowPad(b.t)) / unit
		run -= run % b.t.Cores
	}
	if run <= 0 {
		return target.Refuse(target.RuleWorkingSet, "L2 bytes of a window's rows", kh*unit*b.t.Cores, most,
			fmt.Sprintf("%d rows of %d channels take more than %d bytes of L2", kh, b.t.Cores, most))
	}
	for first := int64(0); first < x.dims[1]; first += run {
		n := min(run, x.dims[1]-first)
		d := neural(td.NEMultiply)
		d.ne.unicast = true
		// The first window ends on the first element and the last one begins on the last: the taps before the single
		// 1.0 are the padding after the image.
		d.window.kh, d.window.kw, d.window.py, d.window.px = kh, kw, p.top+p.bottom, p.left+p.right
		src := imageOperand(x.slice(1, first, n, 1), 1)
		out := imageOperand(dst.channels(first, n), 1)
		out.stride[axG], out.stride[axD] = dst.stride[0], dst.stride[0]
		src.cols = b.t.WorkUnit + kw - 1
		tile := b.tileRows(d, src, out, kh, 1, most)
		plan, err := weights.PlanDepthwise(int(n))
		if err != nil {
			return err
		}
		b.masks(d, plan, p, smallWork(b.t, src, out))
		b.emit(d, src, nil, out, tile)
	}
	return nil
}

// masks packs the kernel that pads by p and points the draft at it.
func (b *builder) masks(d *draft, plan weights.Plan, p margin, small bool) {
	if b.trial {
		return
	}
	plan.WideMasks = b.codec.WideMasks
	k := weights.ShiftKernel(plan.Out, int(d.window.kh), int(d.window.kw), int(p.bottom), int(p.right))
	b.streamParts(d, plan, k, func() (weights.Parts, error) {
		data, sizes, err := plan.PackMasks(k, small)
		if err != nil {
			return weights.Parts{}, err
		}
		return b.sec.AddParts(data, sizes, func() []weights.Repeat { return plan.BodiesLayout(k, data, sizes, true) })
	})
	if d.kernel != nil {
		d.kernel.masks = true
	}
}
