package blobfile

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Sizes and marks of the format; doc.go has the layout.
const (
	HeaderSize = 64         // bytes of the file's header
	RecordSize = 64         // bytes of a metadata record
	Version    = 2          // of the format; 1 is an older one, not read
	Sentinel   = 0xDEADBEEF // first word of a record
	Alignment  = 64         // of records and data as Writer places them
)

// A FormatError is an invalid field of a weight file.
type FormatError struct {
	File   string // as passed to Open
	Offset uint64 // of the field, in bytes from the start of the file
	Field  string
	Value  string // the value of the field, "" if the file ends before it
	Limit  string // what is valid
}

// Error returns file, byte offset, field, value and limit.
func (e *FormatError) Error() string {
	value := ""
	if e.Value != "" {
		value = " is " + e.Value
	}
	return fmt.Sprintf("%s: byte %#x: %s%s, %s", e.File, e.Offset, e.Field, value, e.Limit)
}

// A Blob is one constant in a weight file.
type Blob struct {
	Type        ElemType
	Data        []byte // part of the mapping: read only, and only until the File is closed
	Record      uint64 // offset of the metadata record, as MIL text names it
	Offset      uint64 // of Data in the file
	PaddingBits int    // unused bits at the end of Data, 0 to 7; 0 for whole-byte types
}

// Len returns the number of elements. It is exact: the size of a blob that File
// returns is a whole number of elements.
func (b Blob) Len() uint64 {
	w := uint64(b.Type.Bits())
	if w == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(len(b.Data)), 8)
	lo, borrow := bits.Sub64(lo, uint64(b.PaddingBits), 0)
	q, _ := bits.Div64((hi-borrow)%w, lo, w)
	return q
}

// header is the start of the file.
type header struct {
	count   uint32
	version uint32
}

func (h header) encode() (b [HeaderSize]byte) {
	binary.LittleEndian.PutUint32(b[0:], h.count)
	binary.LittleEndian.PutUint32(b[4:], h.version)
	return b
}

// record is the metadata of a blob.
type record struct {
	sentinel uint32
	elem     ElemType
	size     uint64 // of the data in bytes
	offset   uint64 // of the data in the file
	padding  uint64 // bits
}

// Offsets of the fields in a record.
const (
	elemField    = 4
	sizeField    = 8
	offsetField  = 16
	paddingField = 24
)

func (r record) encode() (b [RecordSize]byte) {
	binary.LittleEndian.PutUint32(b[0:], r.sentinel)
	binary.LittleEndian.PutUint32(b[elemField:], uint32(r.elem))
	binary.LittleEndian.PutUint64(b[sizeField:], r.size)
	binary.LittleEndian.PutUint64(b[offsetField:], r.offset)
	binary.LittleEndian.PutUint64(b[paddingField:], r.padding)
	return b
}

func decodeRecord(b []byte) record {
	return record{
		sentinel: binary.LittleEndian.Uint32(b[0:]),
		elem:     ElemType(binary.LittleEndian.Uint32(b[elemField:])),
		size:     binary.LittleEndian.Uint64(b[sizeField:]),
		offset:   binary.LittleEndian.Uint64(b[offsetField:]),
		padding:  binary.LittleEndian.Uint64(b[paddingField:]),
	}
}
