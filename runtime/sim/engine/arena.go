package engine

// arenaSize is how many elements of each type an arena keeps from task to task:
// enough for all buffers of a small task. Large tasks allocate theirs.
const arenaSize = 1 << 15

// arena hands out buffers that live as long as a task, from memory that it keeps.
type arena struct {
	floats []float32
	halves []uint16
}

// reset takes all buffers back.
func (a *arena) reset() { a.floats, a.halves = a.floats[:0], a.halves[:0] }

// floats returns a buffer with any content. The calling task alone may use it.
func (e *Engine) floats(n int) []float32 { return take(&e.arena.floats, n) }

// patterns returns a buffer of fp16 patterns with any content.
func (e *Engine) patterns(n int) []uint16 { return take(&e.arena.halves, n) }

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
