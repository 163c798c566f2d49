package weights

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"github.com/zinc-compiler/zinc/numerics/vector"
)

// Palette has the values of a palette, fp16: a power of two of them, up to 256. The weights of a kernel with a palette
// are stored as indices, of as many bits as select an entry. Each core's part starts with its copy of the codebook,
// padded to Granule (recorded for masks of one value), after its copy of a table. The indices of a plane are in the
// order of fp16 weights, low bits first, and begin and end on whole bytes (modelled: no program with indices is
// recorded).
type Palette []uint16

// NewPalette returns the palette of packed fp16 entries.
func NewPalette(entries []byte) Palette {
	c := make(Palette, len(entries)/2)
	for i := range c {
		c[i] = binary.LittleEndian.Uint16(entries[2*i:])
	}
	return c
}

// Bits returns the width of an index, 0 without a palette.
func (c Palette) Bits() int { return max(bits.Len(uint(len(c)))-1, 0) }

// lead returns the codebook, as it is at the beginning of a part.
func (c Palette) lead() []byte {
	var b []byte
	for _, v := range c {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return pad(b, 0)
}

func (c Palette) check() error {
	if n := len(c); c != nil && (n < 2 || n > 256 || n&(n-1) != 0) {
		return fmt.Errorf("weights: kernel field Book has %d entries, want a power of two from 2 to 256", n)
	}
	return nil
}

// index fills d with the indices of fp16 values. A value that is not an entry, as only assumed values may be
// (ir.VerifyPackings), has the index 0.
func (c Palette) index(d, values []byte) {
	at := indices.Get().(*[1 << 16]uint8)
	defer indices.Put(at)
	for i := len(c) - 1; i >= 0; i-- {
		at[c[i]] = uint8(i)
	}
	acc, have, width := uint(0), 0, c.Bits()
	for i := 0; i < len(values); i += 2 {
		v := binary.LittleEndian.Uint16(values[i:])
		k := at[v]
		if int(k) >= len(c) || c[k] != v {
			k = 0 // of another codebook
		}
		acc |= uint(k) << have
		for have += width; have >= 8; have -= 8 {
			d[0], d, acc = byte(acc), d[1:], acc>>8
		}
	}
	if have > 0 {
		d[0] = byte(acc)
	}
}

// indices are tables from fp16 numbers to indices. Entries of codebooks that have had a table before are still there.
var indices = sync.Pool{New: func() any { return new([1 << 16]uint8) }}

// planes are buffers for the values of a plane.
var planes = sync.Pool{New: func() any { return new([]byte) }}

// indexed fills d with the indices of a plane: of lanes rows, whose values are side by side.
func (j *job) indexed(d []byte) {
	n := 2 * j.lanes * j.red
	kept := planes.Get().(*[]byte)
	defer planes.Put(kept)
	if len(*kept) < n {
		*kept = make([]byte, n)
	}
	buf := *kept
	if j.stride > 0 {
		gather(buf[:n], j.rows, j.lanes, j.red, j.stride)
	} else {
		vector.Interleave(buf[:n], j.rows, j.lanes, j.red)
	}
	size := (n/2*j.book.Bits() + 7) / 8
	j.book.index(d[:size], buf[:n])
	clear(d[size:])
}

// CutStreamed is Cut for a kernel whose coefficients stream in a compressed form: a task may read limit bytes of them,
// however many pixels its result has. Slices of several tasks have an even number of outputs per core, as in Cut
// (modelled).
func CutStreamed(k *Kernel, limit int64) ([]Slice, error) {
	if err := checkOutputs(k.Out); err != nil {
		return nil, err
	}
	part := func(outputs int) int64 { return int64(k.leadBytes() + align(k.PlaneBytes(outputs))) }
	most := limit / MaxCores
	per := (k.Out + MaxCores - 1) / MaxCores
	if part(per) <= most {
		return []Slice{{0, k.Out}}, nil
	}
	for per > 1 && part(per) > most {
		per = max(per/2&^1, 1)
	}
	if part(per) > most {
		return nil, fmt.Errorf("weights: one output takes %d compressed bytes, more than the %d that one core "+
			"streams for a task; split the reduction", part(1), most)
	}
	return slicesOf(k.Out, per), nil
}

// compressedChannels fills d with every step-th channel: its scale, its bias and the indices or bytes of its taps.
func (j *job) compressedChannels(d []byte) {
	clear(d)
	row := 2 * j.red
	book, size := j.book, (j.red*j.book.Bits()+7)/8
	if j.scales != nil {
		size = j.red
	}
	for r := 0; r*row < len(j.rows); r += j.step {
		if j.scales != nil {
			book = bytesTimes(j.scales[r])
			binary.LittleEndian.PutUint16(d, j.scales[r])
			d = d[2:]
		}
		if j.bias != nil {
			binary.LittleEndian.PutUint16(d, j.bias[r])
			d = d[2:]
		}
		book.index(d[:size], j.rows[r*row:][:row])
		d = d[size:]
	}
}

// bytesTimes returns the products of each byte with a scale, rounded: entry b is of int8(b), so that an index is the
// byte.
func bytesTimes(scale uint16) Palette {
	book := make(Palette, 256)
	s := FromFP16(scale)
	for b := range book {
		book[b] = ToFP16(float64(int8(b)) * s)
	}
	return book
}

// octets fills d with the bytes of a plane: of lanes rows, side by side.
func (j *job) octets(d []byte) {
	row := make([]byte, 2*j.red)
	one := make([]byte, j.red)
	for l := range j.lanes {
		values := row
		if j.stride > 0 {
			gather(row, j.rows[2*l:], 1, j.red, j.stride)
		} else {
			values = j.rows[2*l*j.red:][:2*j.red]
		}
		bytesTimes(j.scales[l]).index(one, values)
		for k, b := range one {
			d[k*j.lanes+l] = b
		}
	}
	clear(d[j.lanes*j.red:])
}
