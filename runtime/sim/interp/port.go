package interp

import (
	le "encoding/binary"

	"github.com/zinc-compiler/zinc/ir"
)

// port returns a tensor as the engine reads it for an operation that moves
// bits: NaN becomes +infinity, all else is kept. Outside the engine it is the
// tensor itself.
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
			le.LittleEndian.PutUint16(out[i:], 0x7c00)
		}
	}
	if out != nil {
		t.Data = out
	}
	return t
}
