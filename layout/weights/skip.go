package weights

import (
	"encoding/binary"
	"fmt"
)

// Lane slots of one cell of a zero-skipping body: at least four where the
// output is at most 8x8 (Cfg bit 2), at least two elsewhere.
const (
	skipSlotsSmall = 4
	skipSlotsLarge = 2
)

// maxSkipBody is what the 24-bit length in front of a body can say.
const maxSkipBody = 1<<24 - 1

// PackSkipping packs a stride 2 kernel in the zero-skipping form and returns
// the parts in core order with their sizes, which depend on the values.
// smallOutput says the output is at most 8x8 pixels.
//
// One body a core and output channel group (dense), a core and conv group
// (grouped), a channel (depthwise):
//
//	[lanes bias halves] u24 length { mask byte, the halves of its set bits }*
//
// Slots run over input channel; stride phase (py, px) in (0,0) (0,1) (1,0)
// (1,1); cell (y, x) of the ceil(KH/2) by ceil(KW/2) grid in raster order;
// lane. A slot is W[out][ci][2y+py][2x+px], or nothing where that tap or lane
// does not exist. Eight slots make one mask byte, lowest bit first, over the
// whole body; zeros of either sign are left out. Bodies are padded to Granule
// a core (dense, depthwise) or a conv group (grouped).
//
// Recorded with one output channel group only; several follow one another
// inside the part (modelled), as does a fused table ahead of them.
func (p *Plan) PackSkipping(k *Kernel, smallOutput bool) ([]byte, [MaxCores]int, error) {
	var sizes [MaxCores]int
	if err := p.check(k); err != nil {
		return nil, sizes, err
	}
	slots := skipSlotsLarge
	if smallOutput {
		slots = skipSlotsSmall
	}
	var out []byte
	var err error
	body := func(first, lanes int) {
		if err == nil {
			out, err = appendSkipBody(out, k, first, lanes, max(lanes, slots))
		}
	}
	for c := range p.Cores {
		start := len(out)
		if k.Table != nil {
			out = append(out, k.Table.Bytes()...)
		}
		lead := len(out)
		if p.Form == Depthwise {
			for ch := c; ch < p.Out; ch += p.Cores {
				body(p.First+ch, 1)
			}
			out = pad(out, lead)
		} else {
			per := p.Out / p.ConvGroups
			for cg := range p.ConvGroups {
				for _, g := range p.Groups {
					if c < g.Live {
						body(p.First+cg*per+g.Start+c*g.Lanes, g.Lanes)
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

func appendSkipBody(b []byte, k *Kernel, first, lanes, slots int) ([]byte, error) {
	if k.Bias != nil {
		for _, v := range k.Bias[first : first+lanes] {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	head := len(b)
	b = append(b, 0, 0, 0)
	taps := k.KH * k.KW
	row := 2 * k.Red()
	mask, bit := -1, 8
	for ci := range k.In / k.Groups {
		for phase := range 4 {
			for y := phase >> 1; y < 2*((k.KH+1)/2); y += 2 {
				for x := phase & 1; x < 2*((k.KW+1)/2); x += 2 {
					for l := range slots {
						if bit == 8 {
							mask, bit = len(b), 0
							b = append(b, 0)
						}
						if l < lanes && y < k.KH && x < k.KW {
							at := (first+l)*row + 2*(ci*taps+y*k.KW+x)
							if v := binary.LittleEndian.Uint16(k.W[at:]); v&0x7fff != 0 {
								b[mask] |= 1 << bit
								b = binary.LittleEndian.AppendUint16(b, v)
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
		return nil, fmt.Errorf("weights: zero-skipping body of outputs %d..%d is %d bytes, want at most %d; pack it dense or cut the kernel", first, first+lanes, n, maxSkipBody)
	}
	b[head], b[head+1], b[head+2] = byte(n), byte(n>>8), byte(n>>16)
	return b, nil
}
