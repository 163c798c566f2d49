package lower

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// channelPair is the pair of parameters that each channel has for an operation with a constant: the engine computes (x
// + bias) * scale.
var channelPair = map[*ir.Operation]func(c float64) (bias, scale float64){
	ir.OpAdd:     func(c float64) (float64, float64) { return c, 1 },
	ir.OpSub:     func(c float64) (float64, float64) { return -c, 1 },
	ir.OpMul:     func(c float64) (float64, float64) { return 0, c },
	ir.OpRealDiv: func(c float64) (float64, float64) { return 0, 1 / c },
}

// perChannel lowers an operation on an image and a constant with one value per channel. Two rows of constants, addends
// and factors, are copied to L2, and the planar engine reads them as a parameter pair (recorded for add, mul and
// real_div).
func perChannel(b *builder, o *operands) error {
	op, x, y := o.op, o.x, o.y
	pair := channelPair[op.Def.Operation]
	if x.IsConst() && op.Is(ir.OpAdd, ir.OpMul) {
		x, y = y, x
	}
	if pair == nil || !y.IsConst() || x.IsConst() || x.Type.Rank() != 4 || !x.Type.Equal(op.Results[0].Type) {
		return noFit("the operands are not an image and a constant")
	}
	channels := x.Type.Shape[1]
	n := y.Type.Elems()
	row, ok := b.alongChannels(x.Type, y.Type)
	if !ok || n != channels && n != 1 {
		return noFit("the constant is not one number for each channel, or rows of the image are too long for L2")
	}
	var bias, scale []uint16
	for c := range channels {
		p, q := pair(y.Const.Float(min(c, n-1)))
		bias, scale = append(bias, weights.ToFP16(p)), append(scale, weights.ToFP16(q))
	}
	data, err := weights.PairRows(bias, scale)
	if err != nil {
		return err
	}
	xs, err := b.tensor(x)
	if err != nil {
		return err
	}
	off, err := b.sec.AddRow(data, func() []weights.Repeat { return weights.PairLayout(len(bias)) })
	if err != nil {
		return err
	}
	b.reads(y)
	dims := []int64{2, channels}
	rows := inBuffer(&buffer{
		space: constant,
		size:  int64(len(data)),
		bar:   BarConstants,
		off:   int64(off),
		def:   -1,
	}, dims)
	params := rows
	if !b.t.FetchesBroadcast {
		params = b.temp(dims)
		params.buf.layout = pairOfRows
		b.copyTo(rows, params)
	}
	b.eachImage(xs, o.dst, row, func(src, out *operand, tile int64) {
		two := &operand{buf: params.buf, off: params.off, swap: true,
			ext:    [5]int64{1, 1, channels, 2, 1},
			stride: [4]int64{2 * params.stride[0], 2 * params.stride[0], params.stride[0], params.stride[0]}}
		if b.t.FetchesBroadcast {
			two.rows = 2
		}
		b.emit(planar(td.PlanarPair), src, two, out, tile)
	})
	return nil
}

// alongChannels reports whether a constant extends along the channels of an image of type x and no other axis, and a
// task can keep a row of the image beside it. row is the number of bytes of L2 that a row of the image takes.
func (b *builder) alongChannels(x, y ir.Type) (row int64, ok bool) {
	channels := x.Shape[1]
	for i, d := range y.Shape {
		if d != 1 && (4-y.Rank()+i != 1 || d != channels) {
			return 0, false
		}
	}
	row = channels*align(x.Shape[3]*elemBytes, b.t.L2Granule) + maxRowPad(b.t)
	return row, row <= b.t.L2Bytes/2 && channels <= int64(b.t.MaxWidth)
}

// eachImage calls emit for the images of a batch.
func (b *builder) eachImage(x, dst *view, row int64, emit func(src, out *operand, tile int64)) {
	if x.buf.layout == columnAlongRow || dst.buf.layout == columnAlongRow {
		emit(b.column(x), b.column(dst), 0)
		return
	}
	for i := range x.dims[0] {
		src, out := imageOperand(x.slice(0, i, 1, 1), 1), imageOperand(dst.slice(0, i, 1, 1), 1)
		tile := int64(0)
		if fit := (b.t.L2Bytes/2 - l2Reserve) / row; fit < src.ext[axH] {
			tile = max(fit, 1)
		}
		emit(src, out, tile)
	}
}

// boundRow lowers a maximum or minimum of an image and a constant with one value per channel. The constant is copied to
// L2 as one row, which the planar engine reads with channels and width exchanged
// (case binary_maximum_c64_constant_blob).
func boundRow(b *builder, o *operands) error {
	x, y, dst := o.x, o.y, o.dst
	if x.IsConst() {
		x, y = y, x
	}
	if o.table == "" || !y.IsConst() || x.IsConst() || x.Type.Rank() != 4 || x.Type.Elems() != dst.elems() ||
		y.Type.Elems() != x.Type.Shape[1] {
		return noFit("the operands are not an image and a constant with one number for each channel")
	}
	bytes, ok := b.alongChannels(x.Type, y.Type)
	if !ok {
		return noFit("the constant is along another axis, or rows of the image are too long for L2")
	}
	xs, err := b.tensor(x)
	if err != nil {
		return err
	}
	line, err := b.constView(y.Const, []int64{1, x.Type.Shape[1]})
	if err != nil {
		return err
	}
	bound := line
	if !b.t.FetchesBroadcast {
		bound = b.temp(line.dims)
		b.copyTo(line, bound)
	}
	b.eachImage(xs, dst, bytes, func(src, out *operand, tile int64) {
		two := &operand{buf: bound.buf, off: bound.off, swap: true, ext: [5]int64{1, 1, src.ext[axC], 1, 1}}
		for i := range two.stride {
			two.stride[i] = bound.stride[0]
		}
		for _, ax := range [...]int{axH, axW} {
			if src.ext[ax] > 1 {
				two.broadcastAlong(ax)
			}
		}
		b.emit(elementwise(o.binary.op), src, two, out, tile)
	})
	return nil
}
