// Package npy reads and writes npy files, numpy's form of one array.
//
// In: the bytes of a file of version 1, 2 or 3, with elements of one of the
// types of Types in either byte order, row-major or column-major. Out: an
// Array, its elements little-endian and row-major; and from an Array the bytes
// of a file of version 1, as numpy writes them.
//
// Invariants: Decode gives an Array or an error that names the byte
// offset and the rule, and allocates no more than a small multiple of the
// input's length; Decode(Encode(a)) equals a; the data of an encoded file
// starts at a multiple of 64 bytes, and the same Array gives the same bytes.
package npy
