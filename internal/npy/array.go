package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"
)

// Array is one array in memory.
type Array struct {
	Type  string  // element type without byte order, a member of Types: "f2", "i4", "b1"
	Shape []int64 // empty for a scalar
	Data  []byte  // packed elements, little-endian, row-major
}

// Types lists the element types, as numpy writes them after the byte order.
var Types = []string{"b1", "f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"}

// Size returns the number of bytes of one element of a type of Types, or 0 for others.
func Size(typ string) int {
	if !slices.Contains(Types, typ) {
		return 0
	}
	return int(typ[1] - '0')
}

// elems returns the product of the dimensions; ok is false if a dimension is negative
// or the product exceeds limit.
func elems(shape []int64, limit int64) (n int64, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		if d == 0 {
			n = 0
		}
	}
	for _, d := range shape {
		if n != 0 && d > limit/n {
			return 0, false
		}
		n *= d
	}
	return n, n <= limit
}

// Elems returns the number of elements in Data.
func (a Array) Elems() int {
	if s := Size(a.Type); s != 0 {
		return len(a.Data) / s
	}
	return 0
}

// check returns an error if type or shape are invalid or Data has the wrong length.
func (a Array) check() error {
	size := Size(a.Type)
	if size == 0 {
		return fmt.Errorf("npy: element type %q, want one of %s", a.Type, strings.Join(Types, ", "))
	}
	n, ok := elems(a.Shape, math.MaxInt64/int64(size))
	if !ok {
		return fmt.Errorf("npy: shape %v is negative or too large", a.Shape)
	}
	if n*int64(size) != int64(len(a.Data)) {
		return fmt.Errorf("npy: %d bytes of data, shape %v of %s needs %d", len(a.Data), a.Shape, a.Type, n*int64(size))
	}
	return nil
}

// FromFloats returns an array of fp16 ("f2") or fp32 ("f4") elements, rounded
// to nearest, ties to even. The product of shape is the length of values.
func FromFloats(typ string, shape []int64, values []float32) (Array, error) {
	a := Array{Type: typ, Shape: slices.Clone(shape)}
	switch typ {
	case "f2":
		for _, v := range values {
			a.Data = binary.LittleEndian.AppendUint16(a.Data, float16.Fromfloat32(v).Bits())
		}
	case "f4":
		for _, v := range values {
			a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(v))
		}
	default:
		return Array{}, fmt.Errorf("npy: element type %q, want f2 or f4", typ)
	}
	return a, a.check()
}

// Floats returns the elements of an array of fp16 or fp32.
func (a Array) Floats() ([]float32, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	out := make([]float32, a.Elems())
	switch a.Type {
	case "f2":
		for i := range out {
			out[i] = float16.Frombits(binary.LittleEndian.Uint16(a.Data[2*i:])).Float32()
		}
	case "f4":
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:]))
		}
	default:
		return nil, fmt.Errorf("npy: element type %q, want f2 or f4", a.Type)
	}
	return out, nil
}
