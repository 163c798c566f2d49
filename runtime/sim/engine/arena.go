package engine

// arenaSize is how many elements of each type an arena keeps from task to task:
// enough for all buffers of a small task. Large tasks allocate theirs.
const arenaSize = 1 << 15

// arena hands out buffers that live as long as a task, from memory that it keeps.
type arena[T, R any] struct {
	numbers []T
	results []R
}

// reset takes all buffers back.
func (a *arena[T, R]) reset() { a.numbers, a.results = a.numbers[:0], a.results[:0] }

// numbers returns a buffer with arbitrary content. Only the calling task may use it.
func (m *machine[T, R]) numbers(n int) []T { return take(&m.arena.numbers, n) }

// results returns a buffer for rounded results with arbitrary content.
func (m *machine[T, R]) results(n int) []R { return take(&m.arena.results, n) }

func take[T any](pool *[]T, n int) []T {
	if cap(*pool) == 0 {
		*pool = make([]T, 0, arenaSize)
	}
	k := len(*pool)
	if n > cap(*pool)-k {
		return make([]T, n)
	}
	*pool = (*pool)[:k+n]
	return (*pool)[k : k+n : k+n]
}
