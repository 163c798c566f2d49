// Package slab allocates many small values that live about as long as each other. A collection of garbage takes time
// for each allocation, and a value that is in use keeps those beside it.
package slab

import "unsafe"

// A Slab allocates values of T in chunks that double up to maxChunk, so that for few values the number of allocations
// grows with the logarithm of theirs, and the unused memory is less than the used.
type Slab[T any] struct {
	free []T
	next int // values of the next chunk, 0 for the default
}

// maxChunk is the largest chunk, in bytes.
const maxChunk = 16 << 10

// most returns the elements of the largest chunk.
func (s *Slab[T]) most() int {
	var v T
	return max(1, maxChunk/int(max(1, unsafe.Sizeof(v))))
}

// Expect sets how many values the next chunk is for, if they are known beforehand.
func (s *Slab[T]) Expect(n int) { s.next = min(max(n, 1), s.most()) }

func (s *Slab[T]) grow(n int) {
	if s.next == 0 {
		s.next = 8
	}
	s.free = make([]T, max(s.next, n))
	s.next = min(2*s.next, s.most())
}

// One returns a pointer to v's copy.
func (s *Slab[T]) One(v T) *T {
	if len(s.free) == 0 {
		s.grow(1)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	*p = v
	return p
}

// Many returns a copy of v, nil if v is empty.
func (s *Slab[T]) Many(v []T) []T {
	n := len(v)
	if n == 0 {
		return nil
	}
	if len(s.free) < n {
		if n > s.most()/4 { // would waste too much of a chunk
			return append(make([]T, 0, n), v...)
		}
		s.grow(n)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, v)
	return out
}
