package verify

import (
	"sync"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// memory is where the numbers of a piece are. The next piece takes it again, so that it stays in a cache of the machine
// and is not collected as garbage. What a large piece takes beyond it, and all that a nil memory gives, is allocated.
type memory struct {
	chunk []float32
	used  int // elements of chunk
	need  int // elements that the piece took so far
}

// heap allocates.
var heap *memory

var memories = sync.Pool{New: func() any { return new(memory) }}

// floats returns n numbers, which are not cleared.
func (m *memory) floats(n int) []float32 {
	if m == nil {
		return make([]float32, n)
	}
	if m.need += n; m.used+n > len(m.chunk) {
		return make([]float32, n)
	}
	vs := m.chunk[m.used : m.used+n : m.used+n]
	m.used += n
	return vs
}

// maxMemory is the numbers that a memory has room for, 8 MiB: there is one for each goroutine.
const maxMemory = 1 << 21

// again takes back all numbers, and makes room for as many, up to maxMemory.
func (m *memory) again() {
	if n := min(m.need, maxMemory); n > len(m.chunk) {
		m.chunk = make([]float32, n)
	}
	m.used, m.need = 0, 0
}

// in32 returns a tensor of floats in fp32, other tensors unchanged.
func (m *memory) in32(t interp.Tensor) interp.Tensor {
	if t.Type.Kind != ir.Tensor || !computedInFP32(t.Type.DType) {
		return t
	}
	return interp.Share32(t.Type.Shape, m.copied(t))
}

// copied returns the numbers of a tensor in fp32.
func (m *memory) copied(t interp.Tensor) []float32 {
	vs := m.floats(max(0, t.Elems()))
	t.Read32(vs)
	return vs
}

// mapped returns a tensor of t's shape with the numbers f(i, t[i]) in fp32.
func (m *memory) mapped(t interp.Tensor, f func(i int, x float32) float32) interp.Tensor {
	vs := t.View32()
	out := m.floats(len(vs))
	for i, x := range vs {
		out[i] = f(i, x)
	}
	return interp.Share32(t.Type.Shape, out)
}
