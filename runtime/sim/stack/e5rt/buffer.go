package e5rt

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// BufferType is the kind of memory of a buffer object.
type BufferType uint32

// BufferTypeDefault is the type in listing 2.3 and the only one known.
const BufferTypeDefault BufferType = 0

// MaxBufferBytes bounds a buffer object: the engine's address space has 3.5 GiB (chapter 27).
const MaxBufferBytes = translation.ApertureSize

// BufferObject is memory that ports are bound to. Its address does not change, so a port is bound once and the buffer
// refilled. One that is bound to an output and to the input of the next run, or to a state, keeps its value on the
// device between runs (sim.Buffer), and Bytes copies it to the host.
type BufferObject struct {
	rt  *Runtime
	id  uint64
	mem *sim.Buffer
}

// BufferObjectAlloc is e5rt_buffer_object_alloc: a buffer object of n bytes, all
// zero.
func (rt *Runtime) BufferObjectAlloc(n int64, typ BufferType) (*BufferObject, error) {
	object := word("buffer object")
	switch {
	case n < 1 || n > MaxBufferBytes:
		return nil, rt.refuse(callAlloc, object, ErrArgument,
			fmt.Sprintf("the size is %d bytes, want 1 to %d", n, int64(MaxBufferBytes)),
			"use the size in the port's TensorDescriptor")
	case memlimit.Room(n) != nil:
		return nil, rt.refuse(callAlloc, object, ErrArgument,
			fmt.Sprintf("the size is %d bytes, which do not fit the limit of %d bytes of memory for this process",
				n, memlimit.Bytes()),
			"use smaller shapes, or a larger limit")
	case typ != BufferTypeDefault:
		return nil, rt.refuse(callAlloc, object, ErrArgument, fmt.Sprintf("unknown type %d", typ), "use type 0")
	}
	rt.mu.Lock()
	b := &BufferObject{rt: rt, id: rt.id("buffer")}
	rt.mu.Unlock()
	b.mem = sim.NewBuffer(make([]byte, n))
	return b, rt.called(callAlloc, b, nil)
}

// word names an object that has no number yet.
type word string

func (w word) String() string { return string(w) }

// String names the buffer: its number and its size.
func (b *BufferObject) String() string {
	return fmt.Sprintf("buffer object %d of %d bytes", b.id, b.mem.Size())
}

// Bytes returns the memory itself with its newest value. It must not be touched while a stream that uses it is in
// flight, and must be requested again after a run.
func (b *BufferObject) Bytes() []byte { return b.mem.Bytes() }

// Memory returns the memory itself, for another user of it, such as a Machine's state.
func (b *BufferObject) Memory() *sim.Buffer { return b.mem }

// TensorDescriptor is the tensor of a port: packed, row major, little endian.
type TensorDescriptor struct {
	Type    ir.Type
	Strides []int64 // bytes; nil if elements are narrower than a byte
	// Size is the tensor's size in bytes, or -1 for an output whose extents are known only at run time: it takes as
	// much of the buffer as it needs, and the run fails if the buffer is too small.
	Size int64
}

func describe(t ir.Type) TensorDescriptor {
	d := TensorDescriptor{Type: t, Size: t.Bytes()}
	if w := int64(t.DType.Bits()); w%8 == 0 && d.Size >= 0 {
		d.Strides = make([]int64, len(t.Shape))
		step := w / 8
		for i := len(t.Shape) - 1; i >= 0; i-- {
			d.Strides[i] = step
			step *= t.Shape[i]
		}
	}
	return d
}

// View is the first bytes of a buffer seen as a tensor.
type View struct {
	b   *BufferObject
	typ ir.Type
}

// View returns the first bytes of the buffer as a tensor. The buffer must be large enough.
func (b *BufferObject) View(d TensorDescriptor) (View, error) {
	if n := d.Type.Bytes(); n < 0 || n > int64(b.mem.Size()) {
		return View{}, fmt.Errorf("e5rt: %s is too small for %s of %d bytes", b, d.Type, n)
	}
	return View{b, d.Type}, nil
}

// Tensor returns a copy of the tensor.
func (v View) Tensor() interp.Tensor {
	return interp.Tensor{Type: v.typ, Data: slices.Clone(v.b.mem.Read()[:v.typ.Bytes()])}
}

// Set writes a tensor of the view's type.
func (v View) Set(t interp.Tensor) error {
	if !t.Type.Equal(v.typ) {
		return fmt.Errorf("e5rt: got %s, want %s", t.Type, v.typ)
	}
	copy(v.b.Bytes(), t.Data)
	return nil
}
