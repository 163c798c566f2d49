package blobfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// A File is an open weight file.
type File struct {
	name  string
	src   source
	count uint32
}

// source provides the bytes of a file.
type source interface {
	size() uint64
	// bytes returns n bytes from off on; both have been checked against size.
	bytes(off, n uint64) ([]byte, error)
	close() error
}

// memory is a source in memory.
type memory []byte

func (m memory) size() uint64                        { return uint64(len(m)) }
func (m memory) bytes(off, n uint64) ([]byte, error) { return m[off : off+n : off+n], nil }
func (m memory) close() error                        { return nil }

// Open maps the weight file at path and checks its header. If the file is shortened
// while it is open, reading the missing part is a fault (package mapfault).
func Open(path string) (*File, error) {
	info, err := os.Stat(path) // before opening, since opening a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return open(path, f)
}

// MapFile maps the whole regular file f, which has the name name in messages. It owns f. The bytes must not be used
// after close.
func MapFile(name string, f *os.File) (data []byte, close func() error, err error) {
	src, err := load(name, f, 1) // an empty file cannot be mapped
	if err != nil {
		f.Close() // only read from
		return nil, nil, err
	}
	if data, err = src.bytes(0, src.size()); err != nil {
		return nil, nil, errors.Join(err, src.close())
	}
	return data, src.close, nil
}

// Map maps a whole regular file. The bytes must not be used after close.
func Map(path string) (data []byte, close func() error, err error) {
	info, err := os.Stat(path) // before opening, since opening a pipe would wait for a writer
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, notRegular(path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	return MapFile(path, f)
}

func notRegular(path string, mode fs.FileMode) error {
	kind := "a special file"
	if mode.IsDir() {
		kind = "a folder"
	}
	return fmt.Errorf("%s: is %s, not a weight file", path, kind)
}

// open maps f. It owns f from now on.
func open(name string, f *os.File) (*File, error) {
	src, err := load(name, f, HeaderSize)
	if err != nil {
		f.Close() // nothing was written to it
		return nil, err
	}
	out, err := newFile(name, src)
	if err != nil {
		return nil, errors.Join(err, src.close())
	}
	return out, nil
}

// load maps f, which must have least bytes.
func load(name string, f *os.File, least int64) (source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(name, info.Mode())
	}
	if info.Size() < least {
		return nil, short(name, info.Size(), least)
	}
	src, err := mapFile(f, uint64(info.Size()))
	if err != nil {
		return nil, fmt.Errorf("%s: mapping %d bytes: %w", name, info.Size(), err)
	}
	return src, nil
}

func short(name string, size, least int64) error {
	return &FormatError{File: name, Offset: 0, Field: "header",
		Limit: fmt.Sprintf("the file has %d bytes, its header needs %d", size, least)}
}

func newFile(name string, src source) (*File, error) {
	b, err := src.bytes(0, HeaderSize)
	if err != nil {
		return nil, err
	}
	h := header{binary.LittleEndian.Uint32(b[0:]), binary.LittleEndian.Uint32(b[4:])}
	if h.version != Version {
		return nil, &FormatError{File: name, Offset: 4, Field: "version", Value: fmt.Sprint(h.version),
			Limit: fmt.Sprintf("only version %d can be read", Version)}
	}
	return &File{name: name, src: src, count: h.count}, nil
}

// Name returns the path passed to Open.
func (f *File) Name() string { return f.name }

// Size returns the size of the file in bytes.
func (f *File) Size() uint64 { return f.src.size() }

// Count returns the number of blobs that the header states. Real files can have more.
func (f *File) Count() uint32 { return f.count }

// Close unmaps the file. The Data of its blobs must not be used afterwards.
func (f *File) Close() error { return f.src.close() }

// Blob returns the blob whose metadata record is at offset.
func (f *File) Blob(off uint64) (Blob, error) {
	fail := func(field uint64, name, value, limit string, args ...any) (Blob, error) {
		return Blob{}, &FormatError{
			File:   f.name,
			Offset: off + field,
			Field:  name,
			Value:  value,
			Limit:  fmt.Sprintf(limit, args...),
		}
	}
	size := f.Size()
	if off < HeaderSize {
		return fail(0, "metadata record", "", "it is in the header; records start at byte %#x", HeaderSize)
	}
	if off > size || size-off < RecordSize {
		return fail(0, "metadata record", "", "its %d bytes end outside the file, which has %d bytes", RecordSize, size)
	}
	b, err := f.src.bytes(off, RecordSize)
	if err != nil {
		return Blob{}, fmt.Errorf("%s: byte %#x: %w", f.name, off, err)
	}
	r := decodeRecord(b)
	switch {
	case r.sentinel != Sentinel:
		return fail(0, "sentinel", fmt.Sprintf("%#08x", r.sentinel), "a metadata record starts with 0x%X",
			uint32(Sentinel))
	case !r.elem.Known():
		return fail(elemField, "element type", fmt.Sprint(uint32(r.elem)), "known types are 1 to %d", lastElemType)
	case r.offset < HeaderSize || r.offset > size:
		return fail(offsetField, "data offset", fmt.Sprintf("%#x", r.offset),
			"it must be from %#x to the end of the file, %#x", HeaderSize, size)
	case r.size > size-r.offset:
		return fail(sizeField, "data size", fmt.Sprint(r.size),
			"data at byte %#x has room for %d bytes up to the end of the file", r.offset, size-r.offset)
	case r.offset < off+RecordSize && r.offset+r.size > off:
		return fail(offsetField, "data offset", fmt.Sprintf("%#x", r.offset),
			"the data must not overlap their own record, bytes %#x to %#x", off, off+RecordSize)
	}
	width := uint64(r.elem.Bits())
	out := Blob{Type: r.elem, Record: off, Offset: r.offset}
	if width >= 8 {
		if r.size%(width/8) != 0 {
			return fail(sizeField, "data size", fmt.Sprint(r.size),
				"it must be a multiple of the %d bytes of an element of %s", width/8, r.elem)
		}
	} else {
		switch {
		case r.padding >= 8 || r.padding > r.size*8:
			return fail(paddingField, "padding bits", fmt.Sprint(r.padding),
				"they must be below 8 and within the data's %d bytes", r.size)
		// A file has fewer than 2^63 bytes; of bits, only the remainder counts.
		case (r.size%width*8+width*8-r.padding)%width != 0:
			return fail(paddingField, "padding bits", fmt.Sprint(r.padding),
				"%d bytes without them must be whole elements of %s of %d bits", r.size, r.elem, width)
		}
		out.PaddingBits = int(r.padding)
	}
	if out.Data, err = f.src.bytes(r.offset, r.size); err != nil {
		return Blob{}, fmt.Errorf("%s: byte %#x: %w", f.name, r.offset, err)
	}
	return out, nil
}

// roundUp returns the first multiple of align that is not below n.
func roundUp(n, align uint64) uint64 { return (n + align - 1) / align * align }

// afterZeros returns the first multiple of Alignment from off on at which Alignment bytes are not all 0, or a place at
// the end of the file: some writers leave gaps.
func (f *File) afterZeros(off uint64) uint64 {
	for off = roundUp(off, Alignment); off+Alignment <= f.Size(); off += Alignment {
		b, err := f.src.bytes(off, Alignment)
		if err != nil || slices.ContainsFunc(b, func(c byte) bool { return c != 0 }) {
			break
		}
	}
	return off
}

// List returns the blobs of the file in order of their records, as far as they can be found: it starts after the header
// and looks for the next record after the data of the last one, at its end, at the next multiples of 16 and 64 bytes,
// and after a gap of zeros if the header counts more blobs. It continues past the count in the header while records
// follow. err states why a counted blob was not found; the blobs before it are returned.
func (f *File) List() (blobs []Blob, err error) {
	next := uint64(HeaderSize)
	for {
		var b Blob
		found := false
		var first error
		for _, off := range []uint64{roundUp(next, Alignment), next, roundUp(next, 16)} {
			b, err = f.Blob(off)
			if err == nil {
				found = true
				break
			}
			if first == nil {
				first = err
			}
		}
		if !found && uint64(len(blobs)) < uint64(f.count) {
			b, err = f.Blob(f.afterZeros(next))
			found = err == nil
		}
		if !found {
			if uint64(len(blobs)) < uint64(f.count) {
				return blobs, fmt.Errorf("blob %d of %d: %w", len(blobs)+1, f.count, first)
			}
			return blobs, nil
		}
		blobs = append(blobs, b)
		end := max(b.Record+RecordSize, b.Offset+uint64(len(b.Data)))
		if end <= next {
			return blobs, nil
		}
		next = end
	}
}
