package engine

import "slices"

// Sizes of a pool, in elements: what it has at first, which is enough for all buffers of a small task, and how much it
// keeps for large ones.
const (
	poolSize = 1 << 12
	poolMost = 1 << 24
)

// arena hands out buffers that live as long as a task, from memory that it keeps from task to task.
type arena[T, R any] struct {
	numbers pool[T]
	results pool[R]
}

// reset takes all buffers back.
func (a *arena[T, R]) reset() {
	a.numbers.reset()
	a.results.reset()
}

// numbers returns a buffer with arbitrary content. Only the calling task may use it.
func (m *machine[T, R]) numbers(n int) []T { return m.arena.numbers.take(n) }

// results returns a buffer for rounded results with arbitrary content.
func (m *machine[T, R]) results(n int) []R { return m.arena.results.take(n) }

// scratch is memory for numbers.
type scratch[T any] struct{ v []T }

// borrow returns a buffer with arbitrary content to a goroutine of a task, which gives it back.
func (m *machine[T, R]) borrow(n int) *scratch[T] {
	s, _ := m.spare.Get().(*scratch[T])
	if s == nil {
		s = new(scratch[T])
	}
	if cap(s.v) < n {
		s.v = make([]T, n)
	}
	s.v = s.v[:n]
	return s
}

func (m *machine[T, R]) giveBack(s *scratch[T]) { m.spare.Put(s) }

// pool is memory of one type.
type pool[T any] struct {
	kept       []T   // for small buffers, as long as what is in use
	used, free [][]T // large ones
	size       int   // elements of the large ones
}

func (p *pool[T]) reset() {
	p.kept, p.free, p.used = p.kept[:0], append(p.free, p.used...), p.used[:0]
	for ; p.size > poolMost; p.free = p.free[1:] { // the one that was not needed for longest
		p.size -= cap(p.free[0])
		p.free[0] = nil
	}
}

func (p *pool[T]) take(n int) []T {
	if cap(p.kept) == 0 {
		p.kept = make([]T, 0, poolSize)
	}
	if k := len(p.kept); n <= cap(p.kept)-k {
		p.kept = p.kept[:k+n]
		return p.kept[k : k+n : k+n]
	}
	best := -1
	for i, v := range p.free {
		if cap(v) >= n && (best < 0 || cap(v) < cap(p.free[best])) {
			best = i
		}
	}
	var v []T
	if best < 0 {
		v = make([]T, n)
		p.size += n
	} else {
		v = p.free[best]
		p.free = slices.Delete(p.free, best, best+1)
	}
	p.used = append(p.used, v)
	return v[:n]
}
