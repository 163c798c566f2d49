package e5

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/e5/internal/fb"
)

// StorageType is the element type of an operand.
type StorageType int32

// Codes 0 to 10 are the serialization codes of the descriptor. Those from 256 on are zinc's own, for values that no
// engine surface can contain.
const (
	Int4    = StorageType(fb.StorageTypeint4)
	Uint8   = StorageType(fb.StorageTypeuint8)
	Int8    = StorageType(fb.StorageTypeint8)
	FP16    = StorageType(fb.StorageTypefp16)
	FP32    = StorageType(fb.StorageTypefp32)
	Int16   = StorageType(fb.StorageTypeint16)
	Uint16  = StorageType(fb.StorageTypeuint16)
	Int32   = StorageType(fb.StorageTypeint32)
	Uint32  = StorageType(fb.StorageTypeuint32)
	Int64   = StorageType(fb.StorageTypeint64)
	Uint64  = StorageType(fb.StorageTypeuint64)
	Bool    = StorageType(fb.StorageTypeboolean)
	BF16    = StorageType(fb.StorageTypebf16)
	FP64    = StorageType(fb.StorageTypefp64)
	Uint1   = StorageType(fb.StorageTypeuint1)
	Uint2   = StorageType(fb.StorageTypeuint2)
	Uint3   = StorageType(fb.StorageTypeuint3)
	Uint4   = StorageType(fb.StorageTypeuint4)
	Uint6   = StorageType(fb.StorageTypeuint6)
	FP8E4M3 = StorageType(fb.StorageTypefp8e4m3)
	FP8E5M2 = StorageType(fb.StorageTypefp8e5m2)
	String  = StorageType(fb.StorageTypestr)
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
