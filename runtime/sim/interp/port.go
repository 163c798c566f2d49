package interp

import (
	le "encoding/binary"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// readPort is numerics.In for a row.
func readPort(v []float32) {
	for i, x := range v {
		v[i] = numerics.In(x)
	}
}

// readFixed is numerics.FixedIn for packed fp16.
func readFixed(v []float32, b []byte) {
	for i := range v {
		v[i] = numerics.FixedIn(le.LittleEndian.Uint16(b[2*i:]))
	}
}

// readProducts is numerics.MACIn for a row.
func readProducts(v []float32) {
	for i, x := range v {
		v[i] = numerics.MACIn(x)
	}
}

// round is numerics.Out for a row, or numerics.OutMAC if mac is set.
func round(v []float32, mac bool) {
	port := numerics.Out
	if mac {
		port = numerics.OutMAC
	}
	for i, x := range v {
		v[i] = port(x)
	}
}

// Patterns of fp16: infinity, and numerics.MACLimit.
const (
	halfInf   = 0x7c00
	halfLimit = 0x7800
)

// writePort packs a row as round leaves it in fp16. It looks at the patterns, since few need a change.
func writePort(b []byte, v []float32, mac bool) {
	numerics.NarrowBytes(b, v)
	limit := uint16(halfInf)
	if mac {
		limit = halfLimit
	}
	for i := 0; i+1 < len(b); i += 2 {
		h := le.LittleEndian.Uint16(b[i:])
		magnitude := h & 0x7fff
		switch {
		case magnitude-1 < limit-1: // neither zero nor at the limit
			continue
		case magnitude == 0 || magnitude > halfInf: // a zero, or a NaN
			h = 0
		default:
			h = h&0x8000 | halfInf
		}
		le.LittleEndian.PutUint16(b[i:], h)
	}
}

// port returns a tensor as the engine reads it for an operation that moves
// bits: NaN becomes +infinity, of its own sign in fixed point; all else is kept. Outside the engine it is the tensor
// itself.
func (c *call) port(t Tensor) Tensor {
	if !c.ane || t.Type.DType != ir.FP16 {
		return t
	}
	var out []byte
	for i := 0; i+1 < len(t.Data); i += 2 {
		if h := le.LittleEndian.Uint16(t.Data[i:]); h&0x7fff > 0x7c00 {
			if out == nil {
				if !c.reserve(int64(len(t.Data))) {
					return t
				}
				out = append([]byte(nil), t.Data...)
			}
			if !c.fixed {
				h = 0
			}
			le.LittleEndian.PutUint16(out[i:], h&0x8000|halfInf)
		}
	}
	if out != nil {
		t.Data = out
	}
	return t
}
