package lower

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Integers. A port stores them as the host does, which the engine reads and writes as a row of bytes, the format of
// booleans (boolean.go). Inside a program each byte of an element is a tensor of numbers from 0 to 255 (composed: no
// recorded task reads more than one byte of an element).

// givenBytes returns the bytes of an element of a port, 0 for a type that ports cannot have.
func givenBytes(d ir.DType) int64 {
	if d == ir.Bool {
		return 1
	}
	return int64(ir.Bytes(d))
}

// byteDims returns the dimensions of a tensor in a port of bytes.
func byteDims(t ir.Type) []int64 {
	dims := tensorDims(t)
	dims[len(dims)-1] *= max(givenBytes(t.DType), 1)
	return dims
}

func acceptBytes(op *ir.Op, l *limits) error {
	l.ints = true
	for _, v := range []*ir.Value{op.Arg(ir.ParamX), op.Results[0]} {
		if v == nil || v.Type.Rank() == 0 || givenBytes(v.Type.DType) == 0 {
			continue
		}
		if w := byteDims(v.Type); w[len(w)-1] > int64(l.t.MaxWidth) {
			return target.Refuse(target.RuleExtent, "bytes of a row", w[len(w)-1], l.t.MaxWidth,
				fmt.Sprintf("a row of %s has %d bytes, the limit is %d", v.Type, w[len(w)-1], l.t.MaxWidth))
		}
	}
	return l.tensors(op)
}

func lowerBytes(b *builder, op *ir.Op) error {
	if op.Is(ir.OpToBytes) {
		return lowerToBytes(b, op)
	}
	return lowerFromBytes(b, op)
}

// lowerToBytes separates the bytes of a port by two exchanges of rows and columns, between which every n-th row is a
// view.
func lowerToBytes(b *builder, op *ir.Op) error {
	x := op.Arg(ir.ParamX)
	planes := b.planes[x]
	if planes == nil {
		port := b.bytes[x]
		if port == nil {
			return fmt.Errorf("value %q is not in the segment", x.Name)
		}
		n := int64(len(op.Results))
		if n == 1 {
			planes = []*view{b.resultOf(op.Results[0])}
			b.scaleBias(port, planes[0], 1, 0)
		} else {
			rows := b.temp(port.dims)
			b.scaleBias(port, rows, 1, 0)
			columns := b.transposedTemp(rows)
			b.swapLast(matrixOf(rows), columns)
			for i, v := range op.Results {
				s := b.resultOf(v)
				b.swapLast(columns.slice(len(columns.dims)-2, int64(i), s.w(), n), matrixOf(s))
				planes = append(planes, s)
			}
		}
		if !slices.ContainsFunc(planes, func(s *view) bool { return s.buf.space == outPort }) { // only written
			b.planes[x] = planes
		}
	}
	for i, v := range op.Results {
		b.vals[v] = planes[i]
	}
	return nil
}

// lowerFromBytes joins bytes in the same way, if something outside the segment reads the integers.
func lowerFromBytes(b *builder, op *ir.Op) error {
	y := op.Results[0]
	var planes []*view
	for _, v := range op.ArgList(ir.ParamValues) {
		s, err := b.tensor(v)
		if err != nil {
			return err
		}
		planes = append(planes, s)
	}
	b.planes[y] = planes
	port := b.outs[y]
	if port == nil {
		return nil
	}
	to := inBuffer(port, byteDims(y.Type))
	b.vals[y] = to
	if len(planes) == 1 {
		b.copyTo(planes[0], to)
		return nil
	}
	rows := b.temp(to.dims)
	columns := b.transposedTemp(rows)
	for i, s := range planes {
		b.swapLast(matrixOf(s), columns.slice(len(columns.dims)-2, int64(i), s.w(), int64(len(planes))))
	}
	b.swapLast(columns, matrixOf(rows))
	b.copyTo(rows, to)
	return nil
}
