package engine

// Sizes of a pool, in elements: what it has at first, which is enough for all buffers of a small task, and what it
// grows to at most. Larger tasks allocate the rest.
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
	kept []T // as long as what is in use
	more int // elements that did not fit
}

func (p *pool[T]) reset() {
	if size := min(cap(p.kept)+p.more, poolMost); size > cap(p.kept) {
		p.kept = make([]T, 0, size)
	}
	p.kept, p.more = p.kept[:0], 0
}

func (p *pool[T]) take(n int) []T {
	if cap(p.kept) == 0 {
		p.kept = make([]T, 0, poolSize)
	}
	k := len(p.kept)
	if n > cap(p.kept)-k {
		p.more += n
		return make([]T, n)
	}
	p.kept = p.kept[:k+n]
	return p.kept[k : k+n : k+n]
}
