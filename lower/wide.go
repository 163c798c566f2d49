package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// pairColumns is the number of columns that a task with a wide kernel computes at a time.
const pairColumns = 2

// wide reports whether the kernel is wider than a task takes that computes one column at a time.
func (g *convGeometry) wide(t *target.Table) bool {
	return t.WideByPairs && g.kw > int64(t.SmallKernelW)
}

// pairs returns the convolution with two columns at a time (published words of kernels of 9 to 15 columns on h18g):
// Wout counts pairs, the stride is two columns, and each column has a kernel of its own.
func (g *convGeometry) pairs() convGeometry {
	v := *g
	v.kw, v.sx, v.ox, v.wout = int64(weights.PairWidth(int(g.kw))), pairColumns, pairColumns, (g.wout+1)/pairColumns
	return v
}

// rewrites sets which taps of a kernel the tasks of a convolution read that the model's has not, and reports whether
// there are any: those of a second column, and zeros between taps that a dilation spreads.
func (g *convGeometry) rewrites(t *target.Table, op *ir.Op, k *weights.Kernel) bool {
	a, err := ir.ConvAttrs(op)
	if err != nil || k.Streams() {
		return false
	}
	taps := 1
	for _, n := range op.Arg(ir.ParamWeight).Type.Shape[2:] {
		taps *= int(n)
	}
	spread := int64(taps) < g.kh*g.kw
	if g.wide(t) {
		k.Columns = pairColumns
	}
	// With a stride the zeros are stored, or left out in the order of the stride.
	if plain := g.sx*g.sy == 1 && len(a.Dilations) > 0; spread && plain && (t.SkipsFilled || k.Columns > 1) {
		k.Taps = taps
	}
	return k.Rewritten()
}

// unrecordedWidth refuses a wide kernel in a form that no published words show.
func unrecordedWidth(op *ir.Op, t *target.Table, g *convGeometry) error {
	switch {
	case !g.wide(t):
		return nil
	case g.kw > int64(t.MaxRowKernel):
		return unrecorded(op.Def.Operation, fmt.Sprintf(" of more than %d columns of taps", t.MaxRowKernel), t)
	case g.sx > 1:
		return unrecorded(op.Def.Operation,
			fmt.Sprintf(" of more than %d columns of taps with a stride along the width", t.SmallKernelW), t)
	}
	return nil
}

// wideConv emits a convolution of pairs of columns. A result of an odd number of columns is whole pairs first, from
// which a planar pass reads the columns, as in pairedConv.
func (b *builder) wideConv(x, dst *view, k *weights.Kernel, g *convGeometry, e *epilogue) error {
	v := g.pairs()
	if v.wout*pairColumns == g.wout {
		return b.convolveImages(x, dst, k, &v, e)
	}
	whole := b.temp([]int64{dst.dims[0], dst.dims[1], dst.dims[2], v.wout * pairColumns})
	if err := b.convolveImages(x, whole, k, &v, e); err != nil {
		return err
	}
	for n := range dst.dims[0] {
		in := imageOperand(whole.slice(0, n, 1, 1).slice(3, 0, g.wout, 1), 1)
		b.emit(planar(td.PlanarOne), in, nil, imageOperand(dst.slice(0, n, 1, 1), 1), 0)
	}
	return nil
}

// winograd reports whether a task convolves by Winograd's method: kernels of 3x3 and of 1x3 taps at a step of one that
// are stored whole (published words of h18g).
func (b *builder) winograd(k *weights.Kernel, g *convGeometry) bool {
	return b.codec.Has(td.Winograd) && g.kw == 3 && (g.kh == 3 || g.kh == 1) && g.sx*g.sy*g.ox == 1 && k.Taps == 0 &&
		!k.Streams() && (k.Groups == 1 || k.Groups < k.In)
}

// shiftColumns is the largest number of columns of a kernel that moves an image.
func shiftColumns(t *target.Table) int {
	if t.WideByPairs {
		return t.SmallKernelW
	}
	return t.MaxKernelW
}

// winogradShift is the unit shift of a convolution by Winograd's method: units of sixteen columns by eight rows, or of
// eight by sixteen if those cover fewer columns. It is read from the padding of rows of 34 published images of 16 rows
// (8 to 136 columns); fewer rows than a unit has are modelled.
func winogradShift(columns, rows int64) int {
	s := 3
	if align(columns, 8) < align(columns, 16) {
		s = 4
	}
	return min(s, log2up(rows))
}
