package blobfile

import "fmt"

// ElemType is the type of the elements of a blob, numbered as in the file.
type ElemType uint32

// The element types, numbered as in the file.
const (
	Float16    ElemType = 1
	Float32    ElemType = 2
	Uint8      ElemType = 3
	Int8       ElemType = 4
	BFloat16   ElemType = 5
	Int16      ElemType = 6
	Uint16     ElemType = 7
	Int4       ElemType = 8
	Uint1      ElemType = 9
	Uint2      ElemType = 10
	Uint4      ElemType = 11
	Uint3      ElemType = 12
	Uint6      ElemType = 13
	Int32      ElemType = 14
	Uint32     ElemType = 15
	Float8E4M3 ElemType = 16
	Float8E5M2 ElemType = 17
)

// elemTypes has the name in MIL text and the width in bits of every type. Types below a byte are packed without gaps,
// low bits first.
var elemTypes = [...]struct {
	name string
	bits int
}{
	Float16: {"fp16", 16}, Float32: {"fp32", 32}, Uint8: {"uint8", 8}, Int8: {"int8", 8},
	BFloat16: {"bf16", 16}, Int16: {"int16", 16}, Uint16: {"uint16", 16},
	Int4: {"int4", 4}, Uint1: {"uint1", 1}, Uint2: {"uint2", 2}, Uint4: {"uint4", 4},
	Uint3: {"uint3", 3}, Uint6: {"uint6", 6}, Int32: {"int32", 32}, Uint32: {"uint32", 32},
	Float8E4M3: {"fp8e4m3fn", 8}, Float8E5M2: {"fp8e5m2", 8},
}

// lastElemType is the highest number in use.
const lastElemType = Float8E5M2

// Known reports whether t is an element type.
func (t ElemType) Known() bool { return t >= 1 && t <= lastElemType }

// Bits returns the width of an element in bits, 0 when t is unknown.
func (t ElemType) Bits() int {
	if !t.Known() {
		return 0
	}
	return elemTypes[t].bits
}

// String returns the type's name in MIL text.
func (t ElemType) String() string {
	if !t.Known() {
		return fmt.Sprintf("type %d", uint32(t))
	}
	return elemTypes[t].name
}
