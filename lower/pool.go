package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

func acceptPool(op *ir.Op, l *limits) error {
	if err := l.tensors(op); err != nil {
		return err
	}
	a, err := ir.PoolAttrs(op)
	if err != nil {
		return err
	}
	n := len(a.Kernel)
	if n != 1 && n != 2 {
		return target.Refuse(target.RuleSpatialRank, "spatial dimensions", n, "1 or 2",
			fmt.Sprintf("pools over %d dimensions; the engine supports 1 or 2", n))
	}
	for i := range n {
		switch {
		case a.Kernel[i] > int64(l.t.MaxPool):
			return target.Refuse(target.RuleWindow, "window", a.Kernel[i], l.t.MaxPool,
				fmt.Sprintf("window of %d, the limit is %d", a.Kernel[i], l.t.MaxPool))
		case a.Strides[i] > int64(l.t.MaxStride):
			return target.Refuse(target.RuleStride, "stride", a.Strides[i], l.t.MaxStride,
				fmt.Sprintf("stride of %d, the limit is %d", a.Strides[i], l.t.MaxStride))
		case a.PadBefore[i] > int64(l.t.MaxPad):
			return target.Refuse(target.RulePadding, "padding", a.PadBefore[i], l.t.MaxPad,
				fmt.Sprintf("padding of %d, the limit is %d", a.PadBefore[i], l.t.MaxPad))
		}
	}
	if op.Is(ir.OpAvgPool) && a.CeilMode && !a.ExcludePadding {
		return target.Refuse(target.RuleCeilMode, "ceil_mode", true, false,
			"an average that counts padding cannot distinguish it from what ceil_mode adds")
	}
	return nil
}

// lowerPool slides a window on the planar engine (modelled: no recorded
// program pools).
func lowerPool(b *builder, op *ir.Op, x *view) error {
	a, err := ir.PoolAttrs(op)
	if err != nil {
		return err
	}
	g := convGeometry{kh: 1, sy: 1, ox: 1}
	n := len(a.Kernel) - 1
	g.kw, g.sx, g.padLft = a.Kernel[n], a.Strides[n], a.PadBefore[n]
	if n == 1 {
		g.kh, g.sy, g.padTop = a.Kernel[0], a.Strides[0], a.PadBefore[0]
	}
	mode, factor := td.PoolMax, 1.0
	if op.Is(ir.OpAvgPool) {
		mode = td.PoolAverage
		if !a.ExcludePadding {
			mode, factor = td.PoolSum, 1/float64(g.kh*g.kw)
		}
	}
	xi, di := asImage(x), asImage(b.resultOf(op.Results[0]))
	if g.kw == 1 && g.kh == 1 && g.sx == 1 && g.sy == 1 {
		b.copyTo(xi, di)
		return nil
	}
	for i := range xi.dims[0] {
		if b.full() {
			break
		}
		b.poolImage(xi.slice(0, i, 1, 1), di.slice(0, i, 1, 1), mode, factor, &g)
	}
	return nil
}

// poolImage pools one image, as many channels at a time as fit L2.
func (b *builder) poolImage(x, dst *view, mode td.Pool, factor float64, g *convGeometry) {
	row := align(x.w()*elemBytes, 16)
	channels := min(x.dims[1], max(1, (b.t.L2Bytes-l2Reserve-maxRowPad(b.t)*g.kh)/(row*g.kh)))
	for c := int64(0); c < x.dims[1]; c += channels {
		n := min(channels, x.dims[1]-c)
		d := folding(mode, factor)
		d.window = g.window()
		src, out := imageOperand(x.slice(1, c, n, 1), 1), imageOperand(dst.slice(1, c, n, 1), 1)
		rows := min((b.t.L2Bytes-l2Reserve)/(n*row+maxRowPad(b.t)), src.ext[axH])
		src.rows = rows
		tile := int64(0)
		if rows < src.ext[axH] {
			tile = max((rows-g.kh)/g.sy+1, 1)
		}
		b.emit(d, src, nil, out, tile)
	}
}
