package npy

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// maxRank is numpy's own limit (64 from version 2 on).
const maxRank = 64

// Decode reads an npy file. The Array's Data is a part of file if its bytes need no
// conversion.
func Decode(file []byte) (Array, error) {
	if len(file) < 10 || string(file[:6]) != Magic {
		return Array{}, fmt.Errorf("npy: byte 0: want %q, a version and a header length", Magic)
	}
	start, length := 10, uint64(binary.LittleEndian.Uint16(file[8:]))
	switch file[6] {
	case 1:
	case 2, 3:
		if len(file) < 12 {
			return Array{}, fmt.Errorf("npy: byte 8: the file ends in the header length")
		}
		start, length = 12, uint64(binary.LittleEndian.Uint32(file[8:]))
	default:
		return Array{}, fmt.Errorf("npy: byte 6: version %d, want 1, 2 or 3", file[6])
	}
	if length > uint64(len(file)-start) {
		return Array{}, fmt.Errorf("npy: byte 8: header of %d bytes at byte %d ends past the file's %d", length, start,
			len(file))
	}
	data := file[start+int(length):]
	h, err := parseHeader(string(file[start:start+int(length)]), start)
	if err != nil {
		return Array{}, err
	}

	typ := h.descr
	big := false
	if typ != "" && strings.ContainsRune("<>|=", rune(typ[0])) {
		big = typ[0] == '>'
		typ = typ[1:]
	}
	if typ == "?" {
		typ = "b1"
	}
	size := Size(typ)
	if size == 0 {
		return Array{}, fmt.Errorf("npy: byte %d: element type %q, want one of %s", start, h.descr,
			strings.Join(Types, ", "))
	}
	n, ok := elems(h.shape, int64(len(data)))
	if !ok {
		return Array{}, fmt.Errorf("npy: byte %d: shape %v has more elements than the %d bytes of data", start, h.shape,
			len(data))
	}
	if want := n * int64(size); want != int64(len(data)) {
		return Array{}, fmt.Errorf("npy: byte %d: %d bytes of data, shape %v of %s needs %d", start+int(length),
			len(data), h.shape, typ, want)
	}
	if typ == "b1" {
		if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
			return Array{}, fmt.Errorf("npy: byte %d: truth value %d, want 0 or 1", start+int(length)+i, data[i])
		}
	}
	if big && size > 1 {
		data = swapped(data, size)
	}
	if h.fortran && len(h.shape) > 1 {
		data = rowMajor(data, h.shape, size)
	}
	return Array{Type: typ, Shape: h.shape, Data: data}, nil
}

// swapped returns data with the bytes of each element in the other order.
func swapped(data []byte, size int) []byte {
	out := slices.Clone(data)
	for i := 0; i < len(out); i += size {
		slices.Reverse(out[i : i+size])
	}
	return out
}

// rowMajor returns the elements of a column-major array in row-major order.
func rowMajor(data []byte, shape []int64, size int) []byte {
	out := make([]byte, 0, len(data))
	stride := make([]int, len(shape))
	step := size
	for i, d := range shape {
		stride[i] = step
		step *= int(d)
	}
	index := make([]int64, len(shape))
	for at := 0; len(out) < len(data); {
		out = append(out, data[at:at+size]...)
		for i := len(shape) - 1; i >= 0; i-- {
			index[i]++
			at += stride[i]
			if index[i] < shape[i] {
				break
			}
			at -= stride[i] * int(index[i])
			index[i] = 0
		}
	}
	return out
}
