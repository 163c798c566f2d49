package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Magic is the beginning of every npy file.
const Magic = "\x93NUMPY"

// dataAlign is the alignment of the elements in a file.
const dataAlign = 64

// order returns the byte order that numpy writes before a type: '|' if it has no
// meaning.
func order(typ string) string {
	if Size(typ) == 1 {
		return "|"
	}
	return "<"
}

// header returns everything before the elements.
func (a Array) header() []byte {
	dims := make([]string, len(a.Shape))
	for i, d := range a.Shape {
		dims[i] = strconv.FormatInt(d, 10)
	}
	tuple := strings.Join(dims, ", ")
	if len(a.Shape) == 1 {
		tuple += ","
	}
	text := "{'descr': '" + order(a.Type) + a.Type + "', 'fortran_order': False, 'shape': (" + tuple + "), }"
	const prefix = len(Magic) + 4
	end := prefix + len(text) + 1
	text += strings.Repeat(" ", (end+dataAlign-1)/dataAlign*dataAlign-end) + "\n"
	out := append([]byte(Magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return append(out, text...)
}

// WriteTo writes the array as an npy file.
func (a Array) WriteTo(w io.Writer) (int64, error) {
	if err := a.check(); err != nil {
		return 0, err
	}
	if len(a.Shape) > maxRank {
		return 0, fmt.Errorf("npy: %d dimensions, the limit is %d", len(a.Shape), maxRank)
	}
	n, err := w.Write(a.header())
	if err != nil {
		return int64(n), err
	}
	m, err := w.Write(a.Data)
	return int64(n) + int64(m), err
}

// Encode returns the array as an npy file.
func Encode(a Array) ([]byte, error) {
	var b appender
	_, err := a.WriteTo(&b)
	return b, err
}

type appender []byte

func (b *appender) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
