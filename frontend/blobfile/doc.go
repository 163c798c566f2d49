// Package blobfile reads and writes weight files (weights/weight.bin), which contain the large constants of a compiled
// model beside its MIL text.
//
// Input: a path, and the offset of a metadata record, as in a MIL text's BLOBFILE(path, offset). Output: a Blob whose
// Data is a slice of the mapped file. Writer writes such files; Set opens the files of one model, never outside its
// folder.
//
// Invariants: every field is checked against the size of the file before
// it is used; an error is a *FormatError that names the file, the byte offset of
// the field, its value and the limit. A file is mapped, never read whole, and no allocation depends on a field. A File
// may be used by several goroutines at a time.
//
// # Format
//
// All numbers are little-endian. The file begins with a header of 64 bytes:
//
//	0  u32  count of blobs
//	4  u32  version, 2
//	8  56 bytes reserved
//
// A blob is a record of 64 bytes and its data, which well-formed files place directly after it:
//
//	 0  u32  sentinel, 0xDEADBEEF
//	 4  u32  element type, see ElemType
//	 8  u64  size of the data in bytes
//	16  u64  offset of the data in the file
//	24  u64  unused bits at the end of the data; only for types below a byte
//	32  32 bytes reserved
//
// Files written before iOS 18 have garbage in the reserved bytes, and in the field of unused bits for whole-byte types;
// this package ignores both. Apple's writer aligns records and data to 64 bytes, but its reader does not require it,
// and real files break the rule (and their count omits blobs to which the text refers), so this package requires
// neither.
package blobfile
