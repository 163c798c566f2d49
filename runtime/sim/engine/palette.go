package engine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/lower/td"
)

// indexWidths are the widths of a codebook index that the register can encode.
var indexWidths = []uint32{1, 2, 3, 4, 6, 8}

// codebooks reads the palette fields and, if there is a codebook, the one at the start of every part in use: 2^bits
// fp16 numbers, padded to 64 bytes. A lookup table comes before it (modelled).
func (r *reader[T, R]) codebooks() error {
	t := r.x.t
	r.mask = t.On(td.SparseBinary)
	if !t.On(td.PalettizedEn) {
		if r.mask {
			return badField(t, td.SparseBinary, "masks alone tell the weights only with a codebook (PalettizedEn)")
		}
		return nil
	}
	bits := t.Get(td.PalettizeBits)
	switch {
	case !slices.Contains(indexWidths, bits):
		return badField(t, td.PalettizeBits, fmt.Sprintf("an index of a codebook has one of %v bits", indexWidths))
	case r.g.paired:
		return badField(t, td.PalettizedEn, "the order of indices for pairs of columns is not known")
	case r.skip && !r.mask:
		return badField(t, td.SparseBinary,
			"the order of indices in a zero-skipping body is not known: only masks alone (1)")
	case r.mask && !r.skip:
		return badField(t, td.SparseBinary, "masks belong to a zero-skipping body (SparseFmt)")
	case r.mask && bits != 1:
		return badField(t, td.PalettizeBits, "masks alone tell one value from zero: indices of 1 bit")
	}
	r.bits = int(bits)
	for _, p := range r.parts {
		if p == nil {
			continue
		}
		b, err := p.bytes((2<<bits + 63) &^ 63)
		if err != nil {
			return err
		}
		p.book = make([]T, 1<<bits)
		for i := range p.book {
			p.book[i] = r.wide[binary.LittleEndian.Uint16(b[2*i:])]
		}
	}
	return nil
}

// indexed reads a plane of codebook indices: one for each weight, in the order of fp16 weights, low bits first,
// starting and ending on whole bytes (modelled).
func (r *reader[T, R]) indexed(p *part[T], first, lanes int) error {
	red := r.g.red
	b, err := p.bytes((lanes*red*r.bits + 7) / 8)
	if err != nil {
		return err
	}
	at := 0
	for k := range red {
		for l := range lanes {
			v := uint(b[at/8]) >> (at % 8)
			if at%8+r.bits > 8 {
				v |= uint(b[at/8+1]) << (8 - at%8)
			}
			at += r.bits
			r.out.w[(first+l)*red+k] = p.book[v&(1<<r.bits-1)]
		}
	}
	return nil
}
