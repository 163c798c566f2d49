package blobfile

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// A Writer writes a weight file. After an error it writes nothing more and returns the error again.
type Writer struct {
	w     io.WriterAt
	end   uint64 // of what has been written
	count uint32
	err   error
}

// NewWriter starts a weight file at the first byte of w.
func NewWriter(w io.WriterAt) *Writer {
	out := &Writer{w: w, end: HeaderSize}
	out.header()
	return out
}

func (w *Writer) write(b []byte, off uint64) {
	if w.err == nil && off > math.MaxInt64-uint64(len(b)) {
		w.err = errors.New("weight file exceeds the largest file offset")
	}
	if w.err == nil {
		_, w.err = w.w.WriteAt(b, int64(off))
	}
}

func (w *Writer) header() {
	b := header{w.count, Version}.encode()
	w.write(b[:], 0)
}

// Append writes a blob of n elements of type t, whose packed bytes are data, and returns the offset of its metadata
// record, which MIL text names. data must have exactly the size of n elements.
func (w *Writer) Append(t ElemType, n int, data []byte) (record uint64, err error) {
	if w.err != nil {
		return 0, w.err
	}
	width := uint64(t.Bits())
	if width == 0 {
		return 0, fmt.Errorf("element type is %d, known types are 1 to %d", uint32(t), lastElemType)
	}
	if n < 0 || uint64(n) > math.MaxUint64/8/width {
		return 0, fmt.Errorf("blob has %d elements of %s, more than fit in a file", n, t)
	}
	bits := uint64(n) * width
	if need := (bits + 7) / 8; uint64(len(data)) != need {
		return 0, fmt.Errorf("blob of %d elements of %s has %d bytes, want %d", n, t, len(data), need)
	}
	at := align(w.end)
	b := recordOf(t, at, uint64(len(data)), uint64(len(data))*8-bits).encode()
	w.write(b[:], at)
	w.write(data, at+RecordSize)
	w.end = at + RecordSize + uint64(len(data))
	w.count++
	w.header()
	return at, w.err
}

func recordOf(t ElemType, at, size, padding uint64) record {
	return record{sentinel: Sentinel, elem: t, size: size, offset: at + RecordSize, padding: padding}
}

func align(off uint64) uint64 { return (off + Alignment - 1) &^ (Alignment - 1) }

// Err returns the first error. The header is correct after every Append,
// so a file needs no closing call.
func (w *Writer) Err() error { return w.err }
