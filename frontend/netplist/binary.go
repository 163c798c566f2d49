package netplist

import (
	"encoding/binary"
	"fmt"
)

// Kinds of objects of a binary list, by the upper half of their first byte.
const (
	binarySimple = 0x0 // null, false, true
	binaryInt    = 0x1
	binaryReal   = 0x2
	binaryDate   = 0x3
	binaryData   = 0x4
	binaryASCII  = 0x5
	binaryUTF16  = 0x6
	binaryUID    = 0x8
	binaryArray  = 0xa
	binaryDict   = 0xd
)

// trailerSize is the size of the end of a binary list: 6 unused bytes, the sizes of an offset and of a reference, then
// as 64-bit numbers the number of objects, the root and the position of the offsets.
const trailerSize = 32

// binaryScan is the object table of a binary list.
type binaryScan struct {
	src        []byte
	offsetSize int
	refSize    int
	objects    uint64
	table      uint64 // position of the offsets
}

// number reads a big-endian number of n bytes.
func number(b []byte) uint64 {
	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}
	return v
}

// scanBinary checks that every object is in the list, that none contains itself, and that the depth and size of the
// list are within the limits if every reference is followed.
func scanBinary(src []byte) error {
	if len(src) < len(binaryMagic)+trailerSize {
		return fmt.Errorf("a binary property list has at least %d bytes, got %d", len(binaryMagic)+trailerSize,
			len(src))
	}
	end := uint64(len(src) - trailerSize)
	t := src[end:]
	s := &binaryScan{
		src: src[:end], offsetSize: int(t[6]), refSize: int(t[7]),
		objects: binary.BigEndian.Uint64(t[8:]), table: binary.BigEndian.Uint64(t[24:]),
	}
	root := binary.BigEndian.Uint64(t[16:])
	switch {
	case s.offsetSize < 1 || s.offsetSize > 8 || s.refSize < 1 || s.refSize > 8:
		return fmt.Errorf("byte %d: offsets and references have 1 to 8 bytes, got %d and %d", end+6,
			s.offsetSize, s.refSize)
	case s.objects < 1 || s.objects > maxObjects:
		return fmt.Errorf("byte %d: a list has 1 to %d objects, got %d", end+8, maxObjects, s.objects)
	case root >= s.objects:
		return fmt.Errorf("byte %d: the root is object %d of %d", end+16, root, s.objects)
	case s.table > end || s.objects*uint64(s.offsetSize) > end-s.table:
		return fmt.Errorf("byte %d: %d offsets at %#x run past byte %#x", end+24, s.objects, s.table, end)
	}
	return s.walk(root)
}

// content returns the references of an object, empty except for arrays and dictionaries, and its own size: long strings
// and data count as more than one object.
func (s *binaryScan) content(object uint64) (refs []byte, weight uint64, err error) {
	at := s.table + object*uint64(s.offsetSize)
	off := number(s.src[at : at+uint64(s.offsetSize)])
	if off < uint64(len(binaryMagic)) || off >= s.table {
		return nil, 0, fmt.Errorf("byte %d: object %d at %#x is outside the objects, bytes %#x to %#x", at, object,
			off, len(binaryMagic), s.table)
	}
	kind, low := s.src[off]>>4, uint64(s.src[off]&15)
	p := off + 1
	size, unit := uint64(0), uint64(1)
	switch kind {
	case binarySimple:
	case binaryInt, binaryReal, binaryDate:
		if low > 4 {
			return nil, 0, fmt.Errorf("byte %d: a number of 2^%d bytes", off, low)
		}
		size = 1 << low
	case binaryUID:
		size = low + 1
	case binaryData, binaryASCII, binaryUTF16, binaryArray, binaryDict:
		size = low
		if low == 15 { // the count is in an integer object
			if p >= s.table || s.src[p]>>4 != binaryInt || s.src[p]&15 > 3 {
				return nil, 0, fmt.Errorf("byte %d: the count of object %d is not an integer", p, object)
			}
			n := uint64(1) << (s.src[p] & 15)
			if n > s.table-p-1 {
				return nil, 0, fmt.Errorf("byte %d: the count of object %d runs past byte %#x", p, object, s.table)
			}
			size = number(s.src[p+1 : p+1+n])
			p += 1 + n
		}
		switch kind {
		case binaryUTF16:
			unit = 2
		case binaryArray:
			unit = uint64(s.refSize)
		case binaryDict:
			unit = 2 * uint64(s.refSize)
		}
	default:
		return nil, 0, fmt.Errorf("byte %d: object %d has the unknown kind %#x", off, object, s.src[off])
	}
	if size > (s.table-p)/unit {
		return nil, 0, fmt.Errorf("byte %d: object %d has %d elements of %d bytes and runs past byte %#x", off, object,
			size, unit, s.table)
	}
	if kind != binaryArray && kind != binaryDict {
		return nil, 1 + size*unit/64, nil
	}
	return s.src[p : p+size*unit], 1, nil
}

// walk follows every reference from the root, each object once: weight[i] is the number of objects of object i with its
// contents.
func (s *binaryScan) walk(root uint64) error {
	type frame struct {
		object uint64
		refs   []byte
		sum    uint64
	}
	weight := make([]uint64, s.objects)
	open := make([]bool, s.objects)
	depth := make([]int, s.objects) // of what the object holds
	push := func(stack []frame, object uint64) ([]frame, error) {
		refs, alone, err := s.content(object)
		if err != nil {
			return nil, err
		}
		open[object] = true
		return append(stack, frame{object, refs, alone}), nil
	}
	stack, err := push(nil, root)
	if err != nil {
		return err
	}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if len(f.refs) == 0 {
			weight[f.object], open[f.object] = f.sum, false
			d := depth[f.object]
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				up := &stack[len(stack)-1]
				up.sum += f.sum
				depth[up.object] = max(depth[up.object], d+1)
				if up.sum > maxObjects {
					return fmt.Errorf("object %d has more than %d objects if its references are followed",
						up.object, maxObjects)
				}
			}
			continue
		}
		ref := number(f.refs[:s.refSize])
		f.refs = f.refs[s.refSize:]
		switch {
		case ref >= s.objects:
			return fmt.Errorf("object %d refers to object %d of %d", f.object, ref, s.objects)
		case open[ref]:
			return fmt.Errorf("object %d contains itself, through object %d", ref, f.object)
		case len(stack)+1+depth[ref] > maxDepth:
			return fmt.Errorf("object %d is nested deeper than %d", ref, maxDepth)
		case weight[ref] > 0:
			depth[f.object] = max(depth[f.object], depth[ref]+1)
			if f.sum += weight[ref]; f.sum > maxObjects {
				return fmt.Errorf("object %d has more than %d objects if its references are followed", f.object,
					maxObjects)
			}
		default:
			if stack, err = push(stack, ref); err != nil {
				return err
			}
		}
	}
	return nil
}
