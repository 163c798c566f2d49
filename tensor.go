package zinc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Tensor is an input, output or state value of a model.
type Tensor struct {
	// Type is the element type in numpy's notation without the byte order: b1, f2, f4, f8, i1 to i8, u1 to u8. The
	// digit is the size in bytes.
	Type  string
	Shape []int64 // empty for a scalar
	Data  []byte  // packed elements, little-endian, row-major
}

// Element is the set of Go types for elements. A half-precision or bfloat16 element is a float32 in Go.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// elementType returns the element type for a Go type.
func elementType[T Element]() string {
	var zero T
	switch any(zero).(type) {
	case bool:
		return "b1"
	case int8:
		return "i1"
	case int16:
		return "i2"
	case int32:
		return "i4"
	case int64:
		return "i8"
	case uint8:
		return "u1"
	case uint16:
		return "u2"
	case uint32:
		return "u4"
	case uint64:
		return "u8"
	case float32:
		return "f4"
	}
	return "f8"
}

// Of returns a row-major tensor of the given shape, or of one dimension without a shape.
// Shape and values are checked against each other and against the model when it runs.
func Of[T Element](elements []T, shape ...int64) Tensor {
	if shape == nil {
		shape = []int64{int64(len(elements))}
	}
	var b bytes.Buffer
	b.Grow(binary.Size(elements))
	_ = binary.Write(&b, binary.LittleEndian, elements) // writing a slice of fixed-size values to memory cannot fail
	return Tensor{Type: elementType[T](), Shape: slices.Clone(shape), Data: b.Bytes()}
}

// Values returns the elements of a tensor, row-major. T must be the tensor's element
// type; a half-precision tensor is read as float32 too.
func Values[T Element](t Tensor) ([]T, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("zinc: %w", err)
	}
	want := elementType[T]()
	if t.Type == "f2" && want == "f4" {
		fs, err := t.array().Floats()
		if err != nil {
			return nil, err
		}
		return any(fs).([]T), nil
	}
	if t.Type != want {
		var zero T
		return nil, fmt.Errorf("zinc: cannot read a tensor of %s as %T (%s)", t.Type, zero, want)
	}
	out := make([]T, len(t.Data)/npy.Size(t.Type))
	return out, binary.Read(bytes.NewReader(t.Data), binary.LittleEndian, out)
}

// Scalar returns the only element of a tensor, as Values reads it.
func Scalar[T Element](t Tensor) (T, error) {
	vs, err := Values[T](t)
	if err == nil && len(vs) != 1 {
		err = fmt.Errorf("zinc: want a scalar, got a tensor of shape %s with %d elements", ir.ShapeString(t.Shape),
			len(vs))
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return vs[0], nil
}

// DecodeNPY reads a tensor from the bytes of an npy file.
func DecodeNPY(file []byte) (Tensor, error) {
	a, err := npy.Decode(file)
	return Tensor(a), err
}

// EncodeNPY returns the tensor as an npy file.
func (t Tensor) EncodeNPY() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("zinc: %w", err)
	}
	return npy.Encode(t.array())
}

func (t Tensor) array() npy.Array { return npy.Array(t) }

// check returns an error if the data do not match type and shape.
func (t Tensor) check() error {
	size := int64(npy.Size(t.Type))
	if size == 0 {
		return fmt.Errorf("unknown element type %q; the types are %v", t.Type, npy.Types)
	}
	n := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n > math.MaxInt64/size/d {
			return fmt.Errorf("%s is not a valid tensor shape", ir.ShapeString(t.Shape))
		}
		n *= d
	}
	if n*size != int64(len(t.Data)) {
		return fmt.Errorf("a tensor of shape %s and type %s needs %d elements, got %d", ir.ShapeString(t.Shape),
			t.Type, n, int64(len(t.Data))/size)
	}
	return nil
}

// tensor converts t to the type of a port. float32 values convert to every floating-point type, rounded to nearest,
// ties to even.
func (t Tensor) tensor(typ ir.Type) (interp.Tensor, error) {
	if err := t.check(); err != nil {
		return interp.Tensor{}, err
	}
	a := t.array()
	if name, _ := values.ArrayType(typ.DType); a.Type == "f4" && (name == "f2" || name == "f8") {
		fs, err := a.Floats()
		if err != nil {
			return interp.Tensor{}, err
		}
		x, err := interp.FromFloats(typ.DType, fs, a.Shape...)
		if err == nil && !x.Type.Fits(typ) {
			err = fmt.Errorf("the shape is %s, want %s", ir.ShapeString(a.Shape), ir.ShapeString(typ.Shape))
		}
		return x, err
	}
	return values.FromArray(a, typ)
}

// fromTensor converts a value of a model.
func fromTensor(x interp.Tensor) (Tensor, error) {
	a, err := values.ToArray(x)
	return Tensor(a), err
}
