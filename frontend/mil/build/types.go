package build

import (
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// valueType converts the type of a value. If a value cannot have it, it reports that and returns ok false.
func (b *builder) valueType(t *mil.Type) (out ir.Type, ok bool) {
	out, fault := convert(t)
	if fault != "" {
		at := diag.Span{File: b.src.File}
		if t != nil {
			at = b.src.Span(t.Pos, t.End)
		}
		b.list.Errorf(at, codeType, "", "%s", fault)
		return out, false
	}
	return out, true
}

// convert returns the type in the program's form, or an error message.
func convert(t *mil.Type) (ir.Type, string) {
	if t == nil {
		return ir.Type{}, "missing type"
	}
	switch t.Kind {
	case mil.ScalarType, mil.TensorType:
		d, ok := ir.ParseDType(t.Elem)
		if !ok {
			return ir.Type{}, "element type " + t.Elem + " is unknown"
		}
		out := ir.Scalar(d)
		for _, dim := range t.Dims {
			if dim.Kind == mil.VariadicDim {
				return out, "a value of any rank cannot be compiled; write one dimension for each, ? where its " +
					"size is not known"
			}
			out.Shape = append(out.Shape, size(dim))
		}
		return out, ""
	case mil.ListType, mil.StateType:
		if len(t.Args) != 1 {
			return ir.Type{}, t.String() + " has no element type"
		}
		elem, fault := convert(t.Args[0])
		if fault != "" {
			return elem, fault
		}
		if elem.Kind != ir.Tensor {
			return ir.Type{}, "the elements of " + t.String() + " must be tensors"
		}
		if elem.Kind = ir.State; t.Kind == mil.ListType {
			elem.Kind, elem.Len = ir.List, ir.Unknown
			if len(t.Dims) == 1 {
				elem.Len = size(t.Dims[0])
			}
		}
		return elem, ""
	}
	return ir.Type{}, "a value cannot have type " + t.String()
}

// size returns the size of a dimension.
func size(d mil.Dim) int64 {
	if d.Kind == mil.FixedDim {
		return d.Size
	}
	return ir.Unknown
}

// refine returns the inferred type with the dimensions that only the declared one has; the two agree.
func refine(inferred, declared ir.Type) ir.Type {
	whole := true
	for _, d := range inferred.Shape {
		whole = whole && d >= 0
	}
	if !whole {
		shape := append([]int64(nil), inferred.Shape...)
		for i, d := range shape {
			if d < 0 {
				shape[i] = declared.Shape[i]
			}
		}
		inferred.Shape = shape
	}
	if inferred.Kind == ir.List && inferred.Len < 0 {
		inferred.Len = declared.Len
	}
	return inferred
}
