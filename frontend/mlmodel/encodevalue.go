package mlmodel

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/ir"
)

// value writes a Value of an operation. t is its type if the text has none in front of it.
func (e *encoder) value(op string, v mil.Value, t *mil.Type) {
	if own := mil.TypeOf(v); own != nil {
		t = own
	}
	if t == nil {
		e.fail(v.Pos(), v.End(), op, "the value has no type; write it as in int32(1)")
		return
	}
	if l, ok := v.(*mil.Literal); ok && open(t) {
		t = known(l, t)
	}
	e.message(valueSchema, "type", func() { e.valueType(t) })
	if b, ok := v.(*mil.BlobRef); ok {
		e.message(valueSchema, "blobFileValue", func() { e.blobFile(b) })
		return
	}
	e.message(valueSchema, "immediateValue", func() { e.immediate(op, v, t) })
}

// known returns the type of a literal with the dimensions that t leaves open.
func known(l *mil.Literal, t *mil.Type) *mil.Type {
	c, err := build.Literal(l, t)
	if err != nil || t.Kind != mil.TensorType {
		return t // writing the literal reports it
	}
	out := &mil.Type{Kind: mil.TensorType, Elem: t.Elem}
	for _, n := range c.Type.Shape {
		out.Dims = append(out.Dims, mil.Dim{Size: n})
	}
	return out
}

// immediate writes an ImmediateValue.
func (e *encoder) immediate(op string, v mil.Value, t *mil.Type) {
	switch v := v.(type) {
	case *mil.Literal:
		e.literal(op, v, t)
		return
	case *mil.Tuple:
		if t.Kind == mil.TupleType && len(t.Args) == len(v.Elems) {
			e.message(immediateSchema, "tuple", func() {
				e.values(op, v.Elems, func(i int) *mil.Type { return t.Args[i] })
			})
			return
		}
	case *mil.List:
		if t.Kind == mil.ListType {
			e.message(immediateSchema, "list", func() {
				e.values(op, v.Elems, func(int) *mil.Type { return t.Args[0] })
			})
			return
		}
	case *mil.Dict:
		if t.Kind == mil.DictType {
			e.message(immediateSchema, "dictionary", func() { e.pairs(op, v.Entries, t) })
			return
		}
	}
	e.fail(v.Pos(), v.End(), op, "the value is not one of %s, the type before it", t)
}

func (e *encoder) literal(op string, v *mil.Literal, t *mil.Type) {
	c, err := build.Literal(v, t)
	switch {
	case err != nil:
		e.fail(v.Pos(), v.End(), op, "%v", err)
	case t.Kind == mil.ListType:
		e.message(immediateSchema, "list", func() { e.literalList(c, t.Args[0]) })
	default:
		e.message(immediateSchema, "tensor", func() { e.tensor(c) })
	}
}

// pairs writes a DictionaryValue of type t.
func (e *encoder) pairs(op string, es []mil.Entry, t *mil.Type) {
	for _, x := range es {
		e.message(valuesSchema, "values", func() {
			e.message(pairSchema, "key", func() { e.value(op, x.Key, t.Args[0]) })
			e.message(pairSchema, "value", func() { e.value(op, x.Value, t.Args[1]) })
		})
	}
}

// values writes the elements of a list or tuple.
func (e *encoder) values(op string, vs []mil.Value, t func(i int) *mil.Type) {
	for i, v := range vs {
		e.message(valuesSchema, "values", func() { e.value(op, v, t(i)) })
	}
}

// literalList writes the elements of a list of tensors of type t.
func (e *encoder) literalList(c *ir.Const, t *mil.Type) {
	elem := c.Type
	elem.Kind, elem.Len = ir.Tensor, 0
	size, count := elem.Bytes(), elem.Elems()
	for i := range c.Type.Len {
		x := &ir.Const{Type: elem}
		if elem.DType == ir.String {
			x.Strings = c.Strings[i*count : (i+1)*count]
		} else {
			x.Data = c.Data[i*size : (i+1)*size]
		}
		e.message(valuesSchema, "values", func() {
			e.message(valueSchema, "type", func() { e.valueType(t) })
			e.message(valueSchema, "immediateValue", func() {
				e.message(immediateSchema, "tensor", func() { e.tensor(x) })
			})
		})
	}
}

// tensor writes a TensorValue, in the field in which coremltools has values of the type.
func (e *encoder) tensor(c *ir.Const) {
	switch c.Type.DType {
	case ir.String:
		e.message(tensorSchema, "strings", func() {
			for _, s := range c.Strings {
				e.element(valuesSchema, "values", s)
			}
		})
	case ir.Bool:
		e.message(tensorSchema, "bools", func() { e.numbers(c) })
	case ir.Int16, ir.UInt16, ir.Int32:
		e.message(tensorSchema, "ints", func() { e.numbers(c) })
	case ir.Int64, ir.UInt64:
		e.message(tensorSchema, "longInts", func() { e.numbers(c) })
	case ir.FP32:
		e.message(tensorSchema, "floats", func() { e.text(floatsSchema, "values", string(c.Data)) })
	case ir.FP64:
		e.message(tensorSchema, "doubles", func() { e.text(doublesSchema, "values", string(c.Data)) })
	default:
		e.message(tensorSchema, "bytes", func() { e.text(valuesSchema, "values", string(c.Data)) })
	}
}

// numbers writes integers in one field.
func (e *encoder) numbers(c *ir.Const) {
	if c.Elems() == 0 {
		return
	}
	e.message(intsSchema, "values", func() {
		for i := range c.Elems() {
			e.b = protowire.AppendVarint(e.b, uint64(c.Int(i)))
		}
	})
}
