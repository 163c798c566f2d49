package digits

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/x448/float16"
)

const npyMagic = "\x93NUMPY"

// EncodeNPY returns an array as an npy file, version 1.0, element type fp16,
// row-major. The product of shape is the length of values.
func EncodeNPY(shape []int, values []float32) []byte {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = strconv.Itoa(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	header := "{'descr': '<f2', 'fortran_order': False, 'shape': (" + tuple + "), }"
	// Spaces and a newline bring the data to a multiple of 64 bytes.
	const prefix = len(npyMagic) + 4
	header += strings.Repeat(" ", aligned(prefix+len(header)+1)-prefix-len(header)-1) + "\n"

	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	out = append(out, header...)
	for _, v := range values {
		out = binary.LittleEndian.AppendUint16(out, float16.Fromfloat32(v).Bits())
	}
	return out
}

// Keys of an npy header. A header is a Python literal; these find the values
// in the form that numpy writes.
var (
	npyDescr   = regexp.MustCompile(`'descr': *'([^']*)'`)
	npyFortran = regexp.MustCompile(`'fortran_order': *(True|False)`)
	npyShape   = regexp.MustCompile(`'shape': *\(([0-9, ]*)\)`)
)

// DecodeNPY reads an npy file of version 1 or 2 that holds fp16 or float32,
// little-endian and row-major.
func DecodeNPY(file []byte) (shape []int, values []float32, err error) {
	if len(file) < 12 || string(file[:6]) != npyMagic {
		return nil, nil, fmt.Errorf("npy: no %q at byte 0", npyMagic)
	}
	start, length := 10, uint64(binary.LittleEndian.Uint16(file[8:]))
	switch file[6] {
	case 1:
	case 2:
		start, length = 12, uint64(binary.LittleEndian.Uint32(file[8:]))
	default:
		return nil, nil, fmt.Errorf("npy: version %d at byte 6, want 1 or 2", file[6])
	}
	if length > uint64(len(file)-start) {
		return nil, nil, fmt.Errorf("npy: header of %d bytes at byte %d ends past the file's %d", length, start, len(file))
	}
	header, data := file[start:start+int(length)], file[start+int(length):]

	descr, fortran, dims := npyDescr.FindSubmatch(header), npyFortran.FindSubmatch(header), npyShape.FindSubmatch(header)
	if descr == nil || fortran == nil || dims == nil {
		return nil, nil, fmt.Errorf("npy: header at byte %d lacks descr, fortran_order or shape: %q", start, header)
	}
	if string(fortran[1]) == "True" {
		return nil, nil, fmt.Errorf("npy: the array is column-major; save it in row-major order")
	}
	decode, ok := npyDecoders[string(descr[1])]
	if !ok {
		return nil, nil, fmt.Errorf("npy: element type %q, want '<f2' or '<f4'", descr[1])
	}
	count := 1
	for f := range strings.SplitSeq(string(dims[1]), ",") {
		if f = strings.TrimSpace(f); f == "" {
			continue
		}
		d, err := strconv.Atoi(f)
		if err != nil || d > len(data) {
			return nil, nil, fmt.Errorf("npy: dimension %s is more than the %d bytes of data", f, len(data))
		}
		if count *= d; count > len(data) {
			return nil, nil, fmt.Errorf("npy: shape (%s) has more elements than the %d bytes of data", dims[1], len(data))
		}
		shape = append(shape, d)
	}
	if len(data) != count*decode.size {
		return nil, nil, fmt.Errorf("npy: %d bytes of data, shape (%s) of %s needs %d", len(data), dims[1], descr[1], count*decode.size)
	}
	values = make([]float32, count)
	for i := range values {
		values[i] = decode.value(data[i*decode.size:])
	}
	return shape, values, nil
}

// npyDecoders lists the element types that DecodeNPY reads.
var npyDecoders = map[string]struct {
	size  int
	value func([]byte) float32
}{
	"<f2": {2, func(b []byte) float32 { return float16.Frombits(binary.LittleEndian.Uint16(b)).Float32() }},
	"<f4": {4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
}
