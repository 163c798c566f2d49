package weights

import (
	"encoding/binary"
	"fmt"
)

// Lane slots of one cell of a zero-skipping body: at least four if the output is at most 8x8 (Cfg bit 2), otherwise at
// least two.
const (
	skipSlotsSmall = 4
	skipSlotsLarge = 2
)

// maxSkipBody is the largest value of the 24-bit length in front of a body.
const maxSkipBody = 1<<24 - 1

// PackSkipping packs a kernel of stride 2, or a sparse one of stride 1 (modelled), in the zero-skipping form and
// returns the parts in core order with their sizes, which depend on the values. smallOutput says that the task works on
// a small image as a whole.
//
// There is one body per core and output channel group (dense), per core and conv group (grouped), or per channel
// (depthwise):
//
//	[lanes fp16 biases] u24 length { mask byte, the fp16 weights of its set bits }*
//
// Slots run over input channel; stride phase (py, px) in (0,0) (0,1) (1,0) (1,1); cell (y, x) of the ceil(KH/2) by
// ceil(KW/2) grid in raster order; lane. A slot is W[out][ci][2y+py][2x+px], or nothing where that tap or lane does not
// exist. A sparse kernel has one phase, whose cells are the taps. Eight slots make one mask byte, lowest bit first,
// over the whole body; zeros of either sign are left out. With WideMasks sixteen slots make one mask (recorded on h14).
// Bodies are padded to Granule per core (dense, depthwise) or per conv group (grouped).
//
// A kernel that computes two columns at a time has two lanes for each output: the first is the kernel, the second the
// same one shifted by a tap, both PairWidth wide. The stride along the width is 2, and each lane has a bias. The sizes
// of its parts are published, the order of lanes and phases is modelled. A kernel with zeros of a dilation has one
// phase, as a sparse one.
//
// Recorded with one output channel group only; several follow one another inside the part (modelled), as does a fused
// table ahead of them.
func (p *Plan) PackSkipping(k *Kernel, smallOutput bool) ([]byte, [MaxCores]int, error) {
	f := &body{sy: 2, sx: 2, slots: skipSlots(smallOutput), word: p.maskBytes()}
	switch {
	case k.Columns > 1:
		f.sy = 1
	case k.Sparse || k.Taps > 0:
		f.sy, f.sx = 1, 1
	}
	return p.packBodies(k, f, nil)
}

// PackMasks packs a stride 1 kernel of zeros and one other value v: the zero-skipping form with a codebook of one-bit
// indices, in which the masks alone define the weights. Each part opens with the codebook, v in a separate granule,
// after a fused table (modelled); bodies are as PackSkipping writes them, but without weights. Because the stride is 1,
// they have one phase, whose cells are the taps. Recorded for depthwise kernels with one channel per core, with cells
// of two and of four slots.
func (p *Plan) PackMasks(k *Kernel, smallOutput bool) ([]byte, [MaxCores]int, error) {
	v := uint16(0)
	for i := 0; i+1 < len(k.W); i += 2 {
		switch w := binary.LittleEndian.Uint16(k.W[i:]); {
		case w&0x7fff == 0 || w == v:
		case v != 0:
			return nil, [MaxCores]int{},
				fmt.Errorf("weights: masks allow one value besides zero, got %#04x and %#04x", v, w)
		default:
			v = w
		}
	}
	book := make([]byte, Granule)
	binary.LittleEndian.PutUint16(book, v)
	return p.packBodies(k, &body{sy: 1, sx: 1, slots: skipSlots(smallOutput), masks: true,
		word: p.maskBytes()}, book)
}

func skipSlots(smallOutput bool) int {
	if smallOutput {
		return skipSlotsSmall
	}
	return skipSlotsLarge
}

// packBodies lays out bodies core by core; book is at the start of every part.
func (p *Plan) packBodies(k *Kernel, form *body, book []byte) ([]byte, [MaxCores]int, error) {
	var sizes [MaxCores]int
	if err := p.check(k); err != nil {
		return nil, sizes, err
	}
	var out []byte
	var err error
	add := func(first, lanes int) {
		if err == nil {
			out, err = form.append(out, k, first, lanes)
		}
	}
	for c := range p.Cores {
		start := len(out)
		if k.Table != nil {
			out = append(out, k.Table.Bytes()...)
		}
		out = append(out, book...)
		lead := len(out)
		if p.Form == Depthwise {
			for ch := c; ch < p.Out; ch += p.Cores {
				add(p.First+ch, 1)
			}
			out = pad(out, lead)
		} else {
			per := p.Out / p.ConvGroups
			for cg := range p.ConvGroups {
				for _, g := range p.Groups {
					if c < g.Live {
						add(p.First+cg*per+g.Start+c*g.Lanes, g.Lanes)
					}
				}
				out = pad(out, lead)
			}
		}
		if err != nil {
			return nil, sizes, err
		}
		if len(out) == lead {
			out = out[:start] // a core without outputs has no part
		}
		sizes[c] = len(out) - start
	}
	return out, sizes, nil
}

// pad appends zeros until the bytes since from are a multiple of Granule.
func pad(b []byte, from int) []byte {
	n := len(b) - from
	return append(b, make([]byte, align(n)-n)...)
}

// body is a form of zero-skipping bodies.
type body struct {
	sy, sx int  // stride: the distance between the taps of one phase
	slots  int  // least lane slots of a cell
	masks  bool // only the masks, without weights
	word   int  // bytes of a mask
}

// maskBytes is the number of bytes of a mask.
func (p *Plan) maskBytes() int {
	if p.WideMasks {
		return 2
	}
	return 1
}

// append appends the body of outputs first to first+lanes.
func (f *body) append(b []byte, k *Kernel, first, lanes int) ([]byte, error) {
	cols, kw := k.columns(), k.KW
	if cols > 1 {
		kw = PairWidth(kw)
	}
	if k.Bias != nil {
		for _, v := range k.Bias[first : first+lanes] {
			for range cols {
				b = binary.LittleEndian.AppendUint16(b, v)
			}
		}
	}
	lanes *= cols
	head := len(b)
	b = append(b, 0, 0, 0)
	taps := k.KH * k.KW
	row, input := k.Red(), taps
	if k.Transposed {
		row, input = 1, k.Out
	}
	mask, bit := -1, 8*f.word
	for ci := range k.In / k.Groups {
		for phase := range f.sy * f.sx {
			for y := phase / f.sx; y < f.sy*((k.KH+f.sy-1)/f.sy); y += f.sy {
				for x := phase % f.sx; x < f.sx*((kw+f.sx-1)/f.sx); x += f.sx {
					for l := range max(lanes, f.slots) {
						if bit == 8*f.word {
							mask, bit = len(b), 0
							b = append(b, make([]byte, f.word)...)
						}
						if at := x - l%cols; l < lanes && y < k.KH && at >= 0 && at < k.KW {
							at = 2 * ((first+l/cols)*row + ci*input + y*k.KW + at)
							if v := binary.LittleEndian.Uint16(k.W[at:]); v&0x7fff != 0 {
								b[mask+bit/8] |= 1 << (bit % 8)
								if !f.masks {
									b = binary.LittleEndian.AppendUint16(b, v)
								}
							}
						}
						bit++
					}
				}
			}
		}
	}
	n := len(b) - head - 3
	if n > maxSkipBody {
		return nil, fmt.Errorf("weights: zero-skipping body of outputs %d..%d is %d bytes, want at most %d; pack "+
			"it dense or cut the kernel", first, first+lanes/cols, n, maxSkipBody)
	}
	b[head], b[head+1], b[head+2] = byte(n), byte(n>>8), byte(n>>16)
	return b, nil
}
