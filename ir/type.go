package ir

import (
	"math"
	"strconv"
	"strings"
)

// Unknown is a dimension that is not known until run time, `?` in MIL text.
const Unknown int64 = -1

// Kind is the kind of a type.
type Kind uint8

// Kinds. A MIL scalar is a tensor of rank 0.
const (
	Tensor Kind = iota
	List
	State
	// AnyKind is used only in Param.Kind: the parameter accepts every kind.
	AnyKind
)

// String returns the kind's name in messages.
func (k Kind) String() string { return [...]string{"tensor", "list", "state", "value"}[k&3] }

// Type is the type of a value.
type Type struct {
	Kind  Kind
	DType DType   // element type; for a list, the type of its elements
	Shape []int64 // Unknown for unknown dimensions; of a list, the shape of an element
	Len   int64   // elements of a list, or Unknown
}

// TensorOf returns the tensor type of element type t and the given dimensions.
func TensorOf(t DType, shape ...int64) Type { return Type{Kind: Tensor, DType: t, Shape: shape} }

// Scalar returns the type of a tensor of rank 0.
func Scalar(t DType) Type { return Type{Kind: Tensor, DType: t} }

// Rank returns the number of dimensions.
func (t Type) Rank() int { return len(t.Shape) }

// Static reports whether every dimension is known.
func (t Type) Static() bool {
	for _, d := range t.Shape {
		if d < 0 {
			return false
		}
	}
	return true
}

// Elems returns the number of elements, or -1 if a dimension is unknown or the product exceeds 63 bits.
func (t Type) Elems() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 {
			return -1
		}
		if d != 0 && n > math.MaxInt64/d {
			return -1
		}
		n *= d
	}
	return n
}

// Bytes returns the bytes of the packed elements, or -1 when not known.
func (t Type) Bytes() int64 {
	n := t.Elems()
	if n < 0 || n > math.MaxInt64/64 {
		return -1
	}
	return t.DType.Bytes(n)
}

// Port reports whether a model may have inputs and outputs of the type. coremltools lists fp16, fp32 and int32.
func (t Type) Port() bool {
	return t.Kind == Tensor && t.Static() && t.Elems() > 0 && (t.DType == FP16 || t.DType == FP32 || t.DType == Int32)
}

// Equal reports whether two types are the same, Unknown equal only to Unknown.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.DType != u.DType || len(t.Shape) != len(u.Shape) {
		return false
	}
	for i, d := range t.Shape {
		if d != u.Shape[i] {
			return false
		}
	}
	return t.Kind != List || t.Len == u.Len
}

// Fits reports whether a value of type t may be used where u is declared: they are equal, and an
// unknown dimension on either side matches any.
func (t Type) Fits(u Type) bool {
	if t.Kind != u.Kind || t.DType != u.DType || len(t.Shape) != len(u.Shape) {
		return false
	}
	for i, d := range t.Shape {
		if d != u.Shape[i] && d >= 0 && u.Shape[i] >= 0 {
			return false
		}
	}
	return true
}

// WithShape returns t with another shape.
func (t Type) WithShape(shape ...int64) Type { t.Shape = shape; return t }

// WithDType returns t with another element type.
func (t Type) WithDType(d DType) Type { t.DType = d; return t }

// String returns the type as the text form writes it: tensor<fp16, [1, 64, ?]>.
func (t Type) String() string {
	var b strings.Builder
	switch t.Kind {
	case List:
		b.WriteString("list<")
		b.WriteString(Type{DType: t.DType, Shape: t.Shape}.String())
		b.WriteString(", ")
		b.WriteString(dimString(t.Len))
		b.WriteString(">")
		return b.String()
	case State:
		return "state<" + Type{DType: t.DType, Shape: t.Shape}.String() + ">"
	}
	b.WriteString("tensor<")
	b.WriteString(t.DType.String())
	b.WriteString(", ")
	b.WriteString(ShapeString(t.Shape))
	b.WriteString(">")
	return b.String()
}

// ShapeString returns a shape as text: [1, 64, ?].
func ShapeString(shape []int64) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(dimString(d))
	}
	b.WriteByte(']')
	return b.String()
}

func dimString(d int64) string {
	if d < 0 {
		return "?"
	}
	return strconv.FormatInt(d, 10)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
