package lower

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
)

// A column vector is a tensor of single elements along the channels; each takes a granule of L2. Between elementwise
// tasks it is stored along one row instead (columnAlongRow): tasks exchange channels and width as they write it, and
// planar tasks exchange them as they read it (case floor_r_1x512x1x1, case select_rrb_1x64x1x1, public records of
// real_div before floor).

// isColumnVector reports whether tasks can handle a tensor as a column vector.
func (b *builder) isColumnVector(dims []int64) bool {
	at := len(dims) - 3
	if at < 0 {
		return false
	}
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n > 1 && dims[at] == n && n <= int64(b.t.MaxWidth) && n <= int64(b.t.MaxChannels) &&
		n*b.t.L2Granule <= b.t.L2Bytes/16
}

// between returns a view in scratch for a tensor that only elementwise tasks write and read: along one row if the
// tensor is a column vector.
func (b *builder) between(dims []int64) *view {
	if !b.isColumnVector(dims) {
		return b.temp(dims)
	}
	at := len(dims) - 3
	s := b.temp([]int64{1, dims[at]})
	row := s.stride[0]
	s.dims, s.stride, s.buf.layout = dims, make([]int64, len(dims)), columnAlongRow
	for i := range dims {
		s.stride[i] = row
	}
	s.stride[at], s.stride[len(dims)-1] = elemBytes, elemBytes
	return s
}

// takesColumnVectors reports whether the tasks of an operation are elementwise on tensors of one shape.
func takesColumnVectors(op *ir.Op) bool {
	switch {
	case op.Is(ir.OpSelect, ir.OpRelu, ir.OpAbs, ir.OpSquare, ir.OpRelu6, ir.OpFloor, ir.OpCeil, ir.OpSign):
	case binaries[op.Def.Operation].scalar != nil, binaries[op.Def.Operation].table != "":
	case op.Is(ir.OpLess):
		return slices.Equal(op.Arg(ir.ParamX).Type.Shape, op.Arg(ir.ParamY).Type.Shape)
	case op.Is(ir.OpClip), op.Is(summed...),
		op.Def.Modes == nil && (op.Def.Curve == nil || op.Def.Curve.Table == ""):
		return false
	}
	same := true
	op.Operands(func(p *ir.Param, v *ir.Value) {
		switch p.Name {
		case ir.ParamX, ir.ParamY, ir.ParamA, ir.ParamB, ir.ParamCond:
			if v.IsConst() {
				same = same && v.Type.Elems() == 1 && (op.Is(ir.OpSelect) || takesNumber(op, v, p.Name == ir.ParamX))
			} else {
				same = same && slices.Equal(v.Type.Shape, op.Results[0].Type.Shape)
			}
		}
	})
	return same
}

// takesNumber reports whether the task of an operation on two operands has the first or the second of them as a number
// in its registers or in a table, so that it is not a source.
func takesNumber(op *ir.Op, v *ir.Value, first bool) bool {
	row, c := binaries[op.Def.Operation], v.Const.Float(0)
	if row.table != "" {
		_, err := weights.Activate(row.table, c)
		return err == nil
	}
	if row.scalar == nil {
		return false
	}
	_, _, ok := row.scalar(c, first)
	return ok
}

// column returns a column vector as an operand whose elements are channels.
func (b *builder) column(s *view) *operand {
	if s.buf.layout == columnAlongRow {
		o := &operand{buf: s.buf, off: s.off, swap: true, ext: [5]int64{1, 1, s.elems(), 1, 1}}
		for i := range o.stride {
			o.stride[i] = s.buf.rowBytes
		}
		return o
	}
	n, err := newNest(s)
	if err != nil {
		b.fail("%v", err)
		return &operand{buf: s.buf}
	}
	return n.operand(0)
}

// onColumnVectors emits a task on column vectors, some of them along a row.
func (b *builder) onColumnVectors(make func(channels int64) *draft, srcs []*view, dst *view) {
	c := dst.elems()
	var two *operand
	one, out := b.column(srcs[0]), b.column(dst)
	if len(srcs) == 2 {
		two = b.column(srcs[1])
	}
	lanes := c
	switch {
	case srcs[0].buf.layout == columnAlongRow:
		lanes = 1
	case dst.buf.layout == columnAlongRow:
		lanes = b.t.SmallImage
	}
	d := make(lanes)
	if d.ne != nil && srcs[0].buf.layout == columnAlongRow { // along the row
		along := [5]int64{1, 1, 1, 1, c}
		one.ext, one.swap = along, false
		out.ext, out.swap = along, dst.buf.layout != columnAlongRow
	}
	b.emit(d, one, two, out, 0)
}
