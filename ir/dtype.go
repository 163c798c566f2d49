package ir

import "fmt"

// DType is an element type of MIL.
type DType uint8

// Element types. The order is zinc's own; no file stores these numbers.
const (
	Invalid DType = iota
	Bool
	Int4
	Int8
	Int16
	Int32
	Int64
	UInt1
	UInt2
	UInt3
	UInt4
	UInt6
	UInt8
	UInt16
	UInt32
	UInt64
	FP16
	BF16
	FP32
	FP64
	FP8E4M3
	FP8E5M2
	String
	numDTypes
)

// dtypeRow is the name of a type in MIL text and how the type is stored.
type dtypeRow struct {
	name   string
	bits   int // bits of one stored element; booleans take a byte
	float  bool
	signed bool
	digits int // of a float's significand
}

var dtypes = [numDTypes]dtypeRow{
	Invalid: {name: "invalid"},
	Bool:    {name: "bool", bits: 8},
	Int4:    {name: "int4", bits: 4, signed: true},
	Int8:    {name: "int8", bits: 8, signed: true},
	Int16:   {name: "int16", bits: 16, signed: true},
	Int32:   {name: "int32", bits: 32, signed: true},
	Int64:   {name: "int64", bits: 64, signed: true},
	UInt1:   {name: "uint1", bits: 1},
	UInt2:   {name: "uint2", bits: 2},
	UInt3:   {name: "uint3", bits: 3},
	UInt4:   {name: "uint4", bits: 4},
	UInt6:   {name: "uint6", bits: 6},
	UInt8:   {name: "uint8", bits: 8},
	UInt16:  {name: "uint16", bits: 16},
	UInt32:  {name: "uint32", bits: 32},
	UInt64:  {name: "uint64", bits: 64},
	FP16:    {name: "fp16", bits: 16, float: true, signed: true, digits: 11},
	BF16:    {name: "bf16", bits: 16, float: true, signed: true, digits: 8},
	FP32:    {name: "fp32", bits: 32, float: true, signed: true, digits: 24},
	FP64:    {name: "fp64", bits: 64, float: true, signed: true, digits: 53},
	FP8E4M3: {name: "fp8e4m3fn", bits: 8, float: true, signed: true, digits: 4},
	FP8E5M2: {name: "fp8e5m2", bits: 8, float: true, signed: true, digits: 3},
	String:  {name: "string"},
}

// String returns the type's name in MIL text.
func (t DType) String() string {
	if t >= numDTypes {
		return fmt.Sprintf("DType(%d)", uint8(t))
	}
	return dtypes[t].name
}

// Bits returns the bits of one stored element, 0 for strings.
func (t DType) Bits() int { return dtypes[t].bits }

// Bytes returns the bytes that n packed elements take, sub-byte types packed
// low bits first.
func (t DType) Bytes(n int64) int64 { return (n*int64(dtypes[t].bits) + 7) / 8 }

// IsFloat reports whether t is a floating-point type.
func (t DType) IsFloat() bool { return dtypes[t].float }

// IsInt reports whether t is an integer type, signed or not.
func (t DType) IsInt() bool { return t != Bool && t != String && t != Invalid && !dtypes[t].float }

// IsSigned reports whether t has negative values.
func (t DType) IsSigned() bool { return dtypes[t].signed }

// Contains reports whether every value of u is a value of t.
func (t DType) Contains(u DType) bool {
	numbers := func(t DType) bool { return t.IsInt() || t.IsFloat() }
	switch a, b := dtypes[t], dtypes[u]; {
	case t == u:
		return true
	case u == Bool:
		return numbers(t)
	case !numbers(t) || !numbers(u) || b.float && !a.float:
		return false
	case b.float:
		return a.bits > b.bits
	case a.float:
		return a.digits >= u.magnitude()
	}
	return t.magnitude() >= u.magnitude() && (t.IsSigned() || !u.IsSigned())
}

// magnitude returns the bits of an integer type without its sign.
func (t DType) magnitude() int {
	if dtypes[t].signed {
		return dtypes[t].bits - 1
	}
	return dtypes[t].bits
}

var dtypeByName = func() map[string]DType {
	m := make(map[string]DType, numDTypes)
	for t := Bool; t < numDTypes; t++ {
		m[dtypes[t].name] = t
	}
	// coremltools writes both spellings of each.
	m["float16"], m["float32"], m["float64"], m["str"] = FP16, FP32, FP64, String
	m["fp8e4m3"] = FP8E4M3
	return m
}()

// ParseDType returns the type with this name in MIL text.
func ParseDType(name string) (DType, bool) {
	t, ok := dtypeByName[name]
	return t, ok
}
