package e5

import "fmt"

// StorageType is the element type of an operand.
type StorageType int32

// Codes 0 to 10 are the serialization codes of the descriptor. Those from 256 on are zinc's own, for values that no
// engine surface can contain.
const (
	Int4    StorageType = 0
	Uint8   StorageType = 1
	Int8    StorageType = 2
	FP16    StorageType = 3
	FP32    StorageType = 4
	Int16   StorageType = 5
	Uint16  StorageType = 6
	Int32   StorageType = 7
	Uint32  StorageType = 8
	Int64   StorageType = 9
	Uint64  StorageType = 10
	Bool    StorageType = 256
	BF16    StorageType = 257
	FP64    StorageType = 258
	Uint1   StorageType = 259
	Uint2   StorageType = 260
	Uint3   StorageType = 261
	Uint4   StorageType = 262
	Uint6   StorageType = 263
	FP8E4M3 StorageType = 264
	FP8E5M2 StorageType = 265
	String  StorageType = 266
)

// storageTypes contains, for each code, its name in MIL and its width.
var storageTypes = map[StorageType]struct {
	name string
	bits int // 0: no fixed width
}{
	Int4: {"int4", 4}, Uint8: {"uint8", 8}, Int8: {"int8", 8}, FP16: {"fp16", 16},
	FP32: {"fp32", 32}, Int16: {"int16", 16}, Uint16: {"uint16", 16}, Int32: {"int32", 32},
	Uint32: {"uint32", 32}, Int64: {"int64", 64}, Uint64: {"uint64", 64},
	Bool: {"bool", 8}, BF16: {"bf16", 16}, FP64: {"fp64", 64},
	Uint1: {"uint1", 1}, Uint2: {"uint2", 2}, Uint3: {"uint3", 3}, Uint4: {"uint4", 4}, Uint6: {"uint6", 6},
	FP8E4M3: {"fp8e4m3", 8}, FP8E5M2: {"fp8e5m2", 8}, String: {"string", 0},
}

// storageByName is the inverse of storageTypes.
var storageByName = func() map[string]StorageType {
	m := make(map[string]StorageType, len(storageTypes))
	for t, e := range storageTypes {
		m[e.name] = t
	}
	return m
}()

// StorageTypeOf returns the type with a MIL name ("fp16", "int32", "bool").
func StorageTypeOf(name string) (StorageType, bool) {
	t, ok := storageByName[name]
	return t, ok
}

// Valid reports whether t is a code of the catalog.
func (t StorageType) Valid() bool { _, ok := storageTypes[t]; return ok }

// Bits returns the width of one element, or 0 for String and for a code that is not in the catalog. A Bool takes a
// byte.
func (t StorageType) Bits() int { return storageTypes[t].bits }

// Extension reports whether t is a code of zinc's own.
func (t StorageType) Extension() bool { return t.Valid() && t > Uint64 }

func (t StorageType) String() string {
	if e, ok := storageTypes[t]; ok {
		return e.name
	}
	return fmt.Sprintf("StorageType(%d)", int32(t))
}
