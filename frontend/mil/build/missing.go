package build

import (
	"fmt"
	"sync"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// Missing is a weight file that is missing.
type Missing struct {
	File string // path in the model's folder
	// Pointer reports that there is a file, but that it is only a reference to one, as git-lfs leaves it.
	Pointer   bool
	Constants int // number of constants in it
	Bytes     int64
}

// What is said of it.
func (m *Missing) what() string {
	if m.Pointer {
		return "only a git-lfs pointer"
	}
	return "not found"
}

// String says which file is missing and what needs it.
func (m *Missing) String() string {
	return fmt.Sprintf("%s: %s, needed by %s", m.File, m.what(), diag.Count(m.Constants, "constant", "constants"))
}

// missing counts a constant in a file that is missing, and returns one with assumed values.
func (b *builder) missing(e *blobfile.MissingError, r *mil.BlobRef, t ir.Type) (*ir.Const, error) {
	m := b.lost[e.File]
	if m == nil {
		m = &Missing{File: e.File, Pointer: e.Pointer}
		b.lost[e.File] = m
		b.absent = append(b.absent, m)
	}
	n := t.Bytes()
	m.Constants++
	m.Bytes += max(n, 0)
	if n < 0 || n > maxAssumed {
		return nil, fmt.Errorf("the values of %s cannot be assumed, the limit is %d bytes, and %s is %s", t,
			maxAssumed, m.File, m.what())
	}
	return &ir.Const{
		Type:    t,
		Data:    b.assumed.of(t.DType, int(n)),
		Blob:    fmt.Sprintf("%s@%d", e.File, r.Offset),
		Assumed: b.assumed.of,
	}, nil
}

// assumeMasks gives the assumed masks of sparse constants as many set bits as they have values.
func (b *builder) assumeMasks(p *ir.Program) {
	if len(b.absent) == 0 {
		return
	}
	for _, f := range p.Funcs {
		ir.Walk(f, func(op *ir.Op) {
			for _, of := range [][2]ir.ParamName{
				{ir.ParamMask, ir.ParamNonzeroData},
				{ir.ParamDataMask, ir.ParamNonzeroData},
				{ir.ParamIndicesMask, ir.ParamIndicesNonzeroData},
			} {
				mask, data := op.Arg(of[0]), op.Arg(of[1])
				if mask != nil && data != nil && mask.IsConst() && mask.Const.Assumed != nil {
					mask.Const.Data = setBits(len(mask.Const.Data), data.Type.Elems())
				}
			}
		})
	}
}

// setBits returns n bytes whose first bits are set, low bits first.
func setBits(n int, bits int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(1<<max(0, min(bits-8*int64(i), 8)) - 1)
	}
	return b
}

// maxAssumed is the largest constant whose values are assumed, in bytes.
const maxAssumed = 512 << 20

// assumedPeriod is the number of bytes after which assumed floating-point values repeat: two times a prime number, so
// that equal parts of a constant differ.
const assumedPeriod = 2 * 65537

// assumptions are the values of constants that are unknown: floating-point numbers of fp16 are from 0.25 to 1, and no
// two constants begin with the same ones; numbers in one byte or less are arbitrary; booleans and larger integers,
// which are often positions, are 0. All constants share the bytes.
type assumptions struct {
	zeros []byte
	next  int // where in the noise the next constant begins
}

func (a *assumptions) of(t ir.DType, n int) []byte {
	if t == ir.Bool || !t.IsFloat() && t.Bits() > 8 {
		if len(a.zeros) < n {
			a.zeros = make([]byte, n)
		}
		return a.zeros[:n:n]
	}
	b, at := noise(n+assumedPeriod), a.next
	a.next = (a.next + 2) % assumedPeriod
	return b[at : at+n : at+n]
}

// shared is the noise that all models read, as long as any has needed.
var shared struct {
	sync.Mutex
	noise []byte
}

// noise returns n bytes or more of values of fp16 from 0.25 to 1, which must not be modified.
func noise(n int) []byte {
	shared.Lock()
	defer shared.Unlock()
	done := len(shared.noise)
	if done >= n {
		return shared.noise
	}
	b := append(shared.noise, make([]byte, n-done)...)
	if done == 0 {
		const low, values = 0x3400, 0x800
		x := uint32(1)
		for done = 0; done < assumedPeriod; done += 2 {
			x = x*1664525 + 1013904223 // Numerical Recipes' generator, whose high bits are the random ones
			h := low + x>>16%values
			b[done], b[done+1] = byte(h), byte(h>>8)
		}
	}
	for done < n {
		// What was written before begins with the phase that follows.
		done += copy(b[done:], b[done%assumedPeriod:done])
	}
	shared.noise = b
	return b
}
