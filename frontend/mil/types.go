package mil

import "github.com/zinc-compiler/zinc/internal/diag"

// TypeKind distinguishes the forms of Type.
type TypeKind uint8

// The forms of a type.
const (
	ScalarType TypeKind = iota // fp16
	TensorType                 // tensor<fp16, [1, ?]>
	ListType                   // list<TYPE, 4>
	StateType                  // state<TYPE>
	DictType                   // dict<TYPE, TYPE>
	TupleType                  // tuple<TYPE, TYPE>
)

// compound maps the word before "<" to the form of type it opens.
var compound = map[string]TypeKind{
	"tensor": TensorType, "list": ListType, "state": StateType, "dict": DictType, "tuple": TupleType,
}

var compoundNames = [...]string{
	TensorType: "tensor", ListType: "list", StateType: "state", DictType: "dict", TupleType: "tuple",
}

// A Type is a type as written.
type Type struct {
	Pos, End diag.Pos
	Kind     TypeKind
	Elem     string  // ScalarType, TensorType: the element type's name, a key of Scalars
	Dims     []Dim   // TensorType: one for each dimension, none for a scalar; ListType: its length, one Dim
	Args     []*Type // ListType, StateType: one; DictType: key and value; TupleType: any number
}

// IsScalar reports whether t is a scalar of either dialect: fp16 or
// tensor<fp16, []>.
func (t *Type) IsScalar() bool {
	return t.Kind == ScalarType || t.Kind == TensorType && len(t.Dims) == 0
}

// DimKind distinguishes the forms of Dim.
type DimKind uint8

// The forms of a dimension.
const (
	FixedDim    DimKind = iota // a number
	UnknownDim                 // "?"
	NamedDim                   // a name for one unknown size, the same at each occurrence
	VariadicDim                // "...": any number of dimensions
)

// A Dim is one dimension of a tensor type or the length of a list type.
type Dim struct {
	Size int64 // elements, FixedDim only
	Name string
	Pos  diag.Pos
	Kind DimKind
}

// A Class groups element types by the literals that they accept.
type Class uint8

// The classes of element types.
const (
	FloatClass Class = iota
	IntClass         // signed
	UintClass        // unsigned
	BoolClass
	StringClass
)

// A Scalar describes an element type.
type Scalar struct {
	Class Class
	Bits  int // of one element; 0 for strings
}

// Scalars has every element type by its name in MIL text. The names of fp64, int64, bf16 and the 8-bit floats are
// modelled on the others and on the element types of weight files: no text with any of them was available.
var Scalars = map[string]Scalar{
	"fp16": {FloatClass, 16}, "fp32": {FloatClass, 32}, "fp64": {FloatClass, 64}, "bf16": {FloatClass, 16},
	"fp8e4m3fn": {FloatClass, 8}, "fp8e5m2": {FloatClass, 8},
	"int4": {IntClass, 4}, "int8": {IntClass, 8}, "int16": {IntClass, 16}, "int32": {IntClass, 32},
	"int64": {IntClass, 64},
	"uint1": {UintClass, 1}, "uint2": {UintClass, 2}, "uint3": {UintClass, 3}, "uint4": {UintClass, 4},
	"uint6": {UintClass, 6}, "uint8": {UintClass, 8}, "uint16": {UintClass, 16}, "uint32": {UintClass, 32},
	"uint64": {UintClass, 64},
	"bool":   {BoolClass, 8}, "string": {StringClass, 0},
}

// String returns t as MIL text.
func (t *Type) String() string {
	if t == nil {
		return ""
	}
	var pr printer
	pr.typ(t)
	return string(pr.b)
}
