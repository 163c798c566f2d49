package interp

import (
	"unsafe"

	"github.com/zinc-compiler/zinc/ir"
)

// littleEndian reports whether numbers of the machine are in memory as they are in tensors.
var littleEndian = func() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}()

// View32 returns all elements as fp32, as Floats32 does, but shares the tensor's bytes where they are such numbers. The
// caller must not write to it.
func (t Tensor) View32() []float32 {
	if s := shared32(t.Data); t.Type.Kind == ir.Tensor && t.Type.DType == ir.FP32 && s != nil {
		return s
	}
	return t.Floats32()
}

// Make32 returns a tensor of fp32 with the elements that set writes.
func Make32(shape []int64, set func(vs []float32)) Tensor {
	t := ir.TensorOf(ir.FP32, shape...)
	data := make([]byte, t.Bytes())
	if s := shared32(data); s != nil {
		set(s)
		return Tensor{Type: t, Data: data}
	}
	vs := make([]float32, t.Elems())
	set(vs)
	packFloats(data, ir.FP32, vs)
	return Tensor{Type: t, Data: data}
}

// Share32 returns a tensor of fp32 with the elements vs, whose memory it shares where the machine can read it so. The
// caller must not write to vs while the tensor is in use.
func Share32(shape []int64, vs []float32) Tensor {
	if !littleEndian || len(vs) == 0 {
		return Make32(shape, func(out []float32) { copy(out, vs) })
	}
	return Tensor{Type: ir.TensorOf(ir.FP32, shape...), Data: unsafe.Slice((*byte)(unsafe.Pointer(&vs[0])), 4*len(vs))}
}

// shared32 returns bytes as numbers of fp32, nil if the machine cannot read them so.
func shared32(b []byte) []float32 {
	if !littleEndian || len(b) == 0 || len(b)%4 != 0 || uintptr(unsafe.Pointer(&b[0]))%4 != 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4)
}
