package mil

// A slab allocates values of T in chunks that double up to maxChunk, so that for small texts the number of allocations
// grows with the logarithm of the size, and the unused memory is less than the used.
type slab[T any] struct {
	free []T
	size int
}

// maxChunk is the largest chunk, in elements.
const maxChunk = 1024

func (s *slab[T]) grow(n int) {
	s.size = min(max(2*s.size, 8), maxChunk)
	s.free = make([]T, max(s.size, n))
}

// one returns a pointer to v's copy.
func (s *slab[T]) one(v T) *T {
	if len(s.free) == 0 {
		s.grow(1)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	*p = v
	return p
}

// many returns a copy of v, nil if v is empty.
func (s *slab[T]) many(v []T) []T {
	n := len(v)
	if n == 0 {
		return nil
	}
	if len(s.free) < n {
		if n > maxChunk/4 { // would waste too much of a chunk
			return append(make([]T, 0, n), v...)
		}
		s.grow(n)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, v)
	return out
}
