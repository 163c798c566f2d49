package compress

import (
	"strings"
	"unsafe"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// MinElements is the size from which a constant is compressed, as in coremltools: smaller ones save nothing.
const MinElements = 2048

// weight is a constant that multiplications, lookups or recurrent operations of a program read.
type weight struct {
	name   string
	data   *ir.Const
	values []*ir.Value // that have it, one a function or more
	reads  []*ir.Op    // in the order of the program
	axis   int         // of its output channels
	kept   string      // why it stays as it is, "" if it may be compressed
}

// outputs returns the axis of the output channels of a constant that an operation reads as a weight.
func outputs(op *ir.Op, name ir.ParamName, v *ir.Value) (axis int, ok bool) {
	r := v.Type.Rank()
	switch {
	case op.Is(ir.OpConvTranspose) && name == ir.ParamWeight:
		return 1, true // [in, out / groups, ...]
	case op.Is(ir.OpMatMul):
		m, err := ir.MatMulAttrs(op)
		if err != nil || r < 2 {
			return 0, false
		}
		first := name == ir.ParamX
		if first && m.TransposeX || !first && !m.TransposeY {
			return r - 1, true
		}
		return r - 2, true
	case op.Is(ir.OpGather, ir.OpGatherAlongAxis):
		return 0, name == ir.ParamX
	}
	return 0, strings.HasPrefix(string(name), string(ir.ParamWeight))
}

// weights returns the weights of a program in the order in which it reads them.
func weights(p *ir.Program) []*weight {
	var all []*weight
	known := map[*ir.Value]*weight{}
	stored := map[*byte]*weight{}
	for _, f := range p.Funcs {
		ir.Walk(f, func(op *ir.Op) {
			op.Operands(func(param *ir.Param, v *ir.Value) {
				c := v.Const
				if c == nil || c.Type.Rank() < 2 || c.Elems() < MinElements ||
					c.Type.DType != ir.FP16 && c.Type.DType != ir.FP32 || ir.IsConstexpr(op) {
					return
				}
				axis, ok := outputs(op, param.Name, v)
				if !ok {
					return
				}
				w := known[v]
				if w == nil {
					at := unsafe.SliceData(c.Data)
					if w = stored[at]; w == nil || !w.data.Type.Equal(c.Type) || w.axis != axis {
						w = &weight{name: v.Name, data: c, axis: axis}
						stored[at] = w
						all = append(all, w)
					}
					known[v] = w
					w.values = append(w.values, v)
				}
				w.reads = append(w.reads, op)
			})
		})
	}
	return all
}

// fp16 returns the values in fp16, nil if one of them is no number in it.
func (w *weight) fp16() []uint16 {
	n := int(w.data.Elems())
	out := make([]uint16, n)
	for i := range out {
		if b := w.data.Data; w.data.Type.DType == ir.FP16 {
			out[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
		} else {
			out[i] = numerics.Narrow(float32(w.data.Float(int64(i))))
		}
		if out[i]&infinite == infinite {
			return nil
		}
	}
	return out
}

// channels describes where the values of channels are: [before][channels][after].
func (w *weight) channels() (before, channels, after int) {
	before, after = 1, 1
	for i, d := range w.data.Type.Shape {
		switch {
		case i < w.axis:
			before *= int(d)
		case i == w.axis:
			channels = int(d)
		default:
			after *= int(d)
		}
	}
	return before, channels, after
}

// bytes is the size of the weight as the model stores it.
func (w *weight) bytes() int64 { return int64(len(w.data.Data)) }
