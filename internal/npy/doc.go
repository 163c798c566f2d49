// Package npy reads and writes npy files, numpy's format for one array.
//
// Decode takes the bytes of a file of version 1, 2 or 3, with elements of one of the
// types of Types in either byte order, row-major or column-major, and returns an
// Array with little-endian, row-major elements. Encode returns the bytes of a file
// of version 1, as numpy writes it.
//
// Invariants: an error of Decode names the byte offset and the rule; Decode
// allocates no more than a small multiple of the input's length; Decode(Encode(a))
// equals a; the data of an encoded file starts at a multiple of 64 bytes, and the
// same Array gives the same bytes.
package npy
