package lower

import (
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// paired reports whether a depthwise convolution computes two columns at a time:
// one row of an odd number of taps, at least pairTaps, over one row of pixels
// that several work units cover (recorded for nine taps on 375 columns;
// the bounds are modelled).
func paired(t *target.Table, g *convGeometry) bool {
	return g.kh == 1 && g.hout == 1 && g.sx == 1 && g.sy == 1 && g.kw%2 == 1 && g.kw >= pairTaps &&
		g.wout > 2*t.WorkUnit
}

// pairedConv emits a depthwise convolution of pairs of columns: Wout and the stride count pairs, the result is whole
// pairs, from which a planar pass reads the columns.
func (b *builder) pairedConv(x, dst *view, k *weights.Kernel, g *convGeometry, e *epilogue) error {
	p, err := weights.PlanDepthwise(k.Out)
	if err != nil {
		return err
	}
	const each = 2
	pairs := (g.wout + each - 1) / each
	wide := b.temp([]int64{1, int64(k.Out), 1, each * pairs})
	d := e.multiply()
	d.window = window{kw: g.kw, kh: 1, sx: each, sy: 1, px: g.padLft, ox: each}
	d.ne.unicast = true
	src, out := imageOperand(x, 1), imageOperand(wide, 1)
	out.ext[axW] = pairs
	// A unit reads its own columns and the columns of the taps, in lines of 64 bytes.
	src.cols = align(each*b.t.WorkUnit+g.kw-1, 64/elemBytes)
	b.streamParts(d, p, k, func() (weights.Parts, error) {
		data, sizes, err := p.PackPaired(k)
		if err != nil {
			return weights.Parts{}, err
		}
		return b.sec.AddParts(data, sizes, func() []weights.Repeat { return p.PairedLayout(k) })
	})
	b.emit(d, src, nil, out, 0)
	in := imageOperand(wide.slice(3, 0, g.wout, 1), 1)
	b.emit(planar(td.PlanarOne), in, nil, imageOperand(dst, 1), 0)
	return nil
}
