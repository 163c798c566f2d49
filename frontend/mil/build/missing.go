package build

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"sync"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/repeated"
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
	place := fmt.Sprintf("%s@%d", e.File, r.Offset)
	key := place + " " + t.String()
	data, limit := b.supplied[key], int64(maxAssumed)
	if data == nil && n >= 0 && n <= min(maxAssumed, math.MaxInt/4) {
		data, limit = b.assumed.of(t.DType, int(n)), repeated.MaxCopied
		b.supplied[key] = data // for another function that reads it
	}
	if data == nil {
		return nil, fmt.Errorf("the values of %s cannot be assumed, the limit is %d bytes, and %s is %s", t, limit,
			m.File, m.what())
	}
	return &ir.Const{
		Type:    t,
		Data:    data,
		Blob:    place,
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

// maxAssumed is the largest constant whose values are assumed, in bytes: no container has a larger one. Where the
// values would have to be written to memory, it is repeated.MaxCopied.
const maxAssumed = 1 << 32

// assumedPeriod is the number of bytes after which assumed floating-point values repeat: a prime number of units, so
// that equal parts of a constant differ.
const assumedPeriod = 13 * repeated.Unit

// assumptions are the values of constants that are unknown: floating-point numbers of fp16 are from 0.25 to 1, and no
// two constants begin with the same ones; numbers in one byte or less are arbitrary; booleans and larger integers,
// which are often positions, are 0. All constants share the bytes.
type assumptions struct {
	next int // where in the noise the next constant begins
}

// of returns n bytes of values of a type, nil if there is no room for them.
func (a *assumptions) of(t ir.DType, n int) []byte {
	if t == ir.Bool || !t.IsFloat() && t.Bits() > 8 {
		return shared.zeros.first(n)
	}
	at := a.next
	a.next = (a.next + 2) % assumedPeriod
	b := shared.noise.first(at + n)
	if b == nil {
		return nil
	}
	return b[at:]
}

// shared are the values that all models read, as many as any has needed.
var shared = struct{ noise, zeros supply }{
	noise: supply{period: noise},
	zeros: supply{period: func(n int) []byte { return make([]byte, n) }},
}

// supply is a sequence of bytes that repeats.
type supply struct {
	period func(n int) []byte // returns the first n bytes, at most assumedPeriod

	mutex sync.Mutex
	whole []byte // the period, if it was needed
	bytes []byte // the first ones, as many as were needed
}

// first returns the first n bytes, which must not be modified, or nil if there is no room for them.
func (s *supply) first(n int) []byte {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.bytes) >= n {
		return s.bytes[:n:n]
	}
	const least = 1 << 12
	many := max(least, 1<<bits.Len(uint(n-1))) // so that few lengths are made
	if many <= assumedPeriod {
		s.bytes = s.period(many)
	} else {
		if many = max(many, n); n <= repeated.MaxCopied {
			many = min(many, repeated.MaxCopied)
		}
		if s.whole == nil {
			s.whole = s.period(assumedPeriod)
		}
		b := repeated.Bytes(s.whole, many)
		if b == nil {
			return nil
		}
		s.bytes = b
	}
	return s.bytes[:n:n]
}

// noise returns n bytes of values of fp16 from 0.25 to 1.
func noise(n int) []byte {
	const low, values = 0x3400, 0x800
	b := make([]byte, n)
	x := uint32(1)
	for i := 0; i < n; i += 2 {
		x = x*1664525 + 1013904223 // Numerical Recipes' generator, whose high bits are the random ones
		binary.LittleEndian.PutUint16(b[i:], uint16(low+x>>16%values))
	}
	return b
}
