package blobfile

import (
	"fmt"
	"io"
	"math"
)

// A Writer writes a weight file from its first byte to its last. After an error it writes nothing more and returns the
// error again.
type Writer struct {
	w   io.Writer
	end uint64 // of what has been written
	err error
}

// NewWriter starts a weight file of count blobs, which the caller appends.
func NewWriter(w io.Writer, count int) *Writer {
	b := header{uint32(count), Version}.encode()
	_, err := w.Write(b[:])
	return &Writer{w: w, end: HeaderSize, err: err}
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
	at := Align(w.end)
	b := recordOf(t, at, uint64(len(data)), uint64(len(data))*8-bits).encode()
	for _, part := range [][]byte{make([]byte, at-w.end), b[:], data} {
		if w.err == nil {
			_, w.err = w.w.Write(part)
		}
	}
	w.end = at + RecordSize + uint64(len(data))
	return at, w.err
}

func recordOf(t ElemType, at, size, padding uint64) record {
	return record{sentinel: Sentinel, elem: t, size: size, offset: at + RecordSize, padding: padding}
}

// Align returns the offset of a record after what ends at off.
func Align(off uint64) uint64 { return (off + Alignment - 1) &^ (Alignment - 1) }
