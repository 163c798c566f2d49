package engine

import (
	"encoding/binary"
)

// skipping reads a zero-skipping body: a length, then masks and, unless the masks alone determine the weights, the fp16
// weights of their set bits. Slots run over the input channel, the phase of the stride, the cell of the taps of one
// phase and the lane.
func (r *reader[T, R]) skipping(p *part[T], first, lanes, cin int) error {
	g := r.g
	at := p.base + int64(p.pos)
	b, err := p.bytes(3)
	if err != nil {
		return err
	}
	size := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	if b, err = p.bytes(size); err != nil {
		return err
	}
	bits := 8
	if r.x.codec.WideMasks {
		bits = 16
	}
	pos, slot, mask := 0, 0, uint16(0)
	short := func() error {
		return badAt(p.name(), at, "zero-skipping body ends after its %d bytes, at slot %d", size, slot)
	}
	wide := max(lanes, r.slots)
	taps := g.kh * g.kw
	for ci := range cin {
		for phase := range g.sy * g.sx {
			for cy := range (g.kh + g.sy - 1) / g.sy {
				for cx := range (g.kw + g.sx - 1) / g.sx {
					y, x := g.sy*cy+phase/g.sx, g.sx*cx+phase%g.sx
					for l := range wide {
						if slot%bits == 0 {
							if pos+bits/8 > len(b) {
								return short()
							}
							mask = uint16(b[pos])
							if bits > 8 {
								mask = binary.LittleEndian.Uint16(b[pos:])
							}
							pos += bits / 8
						}
						slot++
						if mask>>((slot-1)%bits)&1 == 0 {
							continue
						}
						if l >= lanes || y >= g.kh || x >= g.kw {
							return badAt(p.name(), at, "zero-skipping body sets slot %d, where there is no tap", slot-1)
						}
						w := &r.out.w[(first+l)*g.red+ci*taps+y*g.kw+x]
						if r.mask {
							*w = p.book[0]
							continue
						}
						if pos+2 > len(b) {
							return short()
						}
						*w = r.wide[binary.LittleEndian.Uint16(b[pos:])]
						pos += 2
					}
				}
			}
		}
	}
	if pos != size {
		return badAt(p.name(), at, "zero-skipping body of %d bytes uses %d", size, pos)
	}
	return nil
}
