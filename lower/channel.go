package lower

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
)

// channelPair is what an operation with a constant makes of each channel: the
// engine computes (x + bias) * scale.
var channelPair = map[string]func(c float64) (bias, scale float64){
	"add":      func(c float64) (float64, float64) { return c, 1 },
	"sub":      func(c float64) (float64, float64) { return -c, 1 },
	"mul":      func(c float64) (float64, float64) { return 0, c },
	"real_div": func(c float64) (float64, float64) { return 0, 1 / c },
}

// perChannel lowers an operation on an image and a constant that has one value a
// channel: two rows of constants, addends and factors, come to L2 by a copy and
// the planar engine takes them as a parameter pair (recorded for add, mul and
// real_div). It reports false where the form does not fit.
func (b *builder) perChannel(op *ir.Op, x, y *ir.Value, dst *surf) (bool, error) {
	pair := channelPair[op.Def.Name]
	if x.IsConst() && (op.Def.Name == "add" || op.Def.Name == "mul") {
		x, y = y, x
	}
	if pair == nil || !y.IsConst() || x.IsConst() || x.Type.Rank() != 4 || !x.Type.Equal(op.Results[0].Type) {
		return false, nil
	}
	channels := x.Type.Shape[1]
	n := y.Type.Elems()
	for i, d := range y.Type.Shape {
		if d != 1 && (4-y.Type.Rank()+i != 1 || d != channels) {
			return false, nil
		}
	}
	row := channels*align(x.Type.Shape[3]*elemBytes, granule) + maxRowPad
	if n != channels && n != 1 || row > b.t.L2Bytes/2 || channels > int64(b.t.MaxWidth) {
		return false, nil
	}
	var bias, scale []uint16
	for c := range channels {
		p, q := pair(y.Const.Float(min(c, n-1)))
		bias, scale = append(bias, uint16(half(p))), append(scale, uint16(half(q)))
	}
	data, err := weights.PairRows(bias, scale)
	if err != nil {
		return false, err
	}
	xs, err := b.tensor(x)
	if err != nil {
		return false, err
	}
	off, err := b.sec.AddRow(data, func() []weights.Repeat { return weights.PairLayout(len(bias)) })
	if err != nil {
		return false, err
	}
	b.reads(y)
	dims := []int64{2, channels}
	rows := inBuffer(&buffer{space: constant, size: int64(len(data)), bar: BarConstants, off: int64(off), def: -1}, dims)
	params := b.temp(dims)
	b.copyTo(rows, params)
	for i := range xs.dims[0] {
		src, out := imageOperand(xs.slice(0, i, 1, 1), 1), imageOperand(dst.slice(0, i, 1, 1), 1)
		two := &operand{buf: params.buf, off: params.off, swap: true,
			ext:    [5]int64{1, 1, channels, 2, 1},
			stride: [4]int64{2 * params.stride[0], 2 * params.stride[0], params.stride[0], params.stride[0]}}
		tile := int64(0)
		if fit := (b.t.L2Bytes/2 - 4096) / row; fit < src.ext[axH] {
			tile = max(fit, 1)
		}
		b.emit(planar(pePair), src, two, out, tile)
	}
	return true, nil
}
