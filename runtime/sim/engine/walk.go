package engine

import "slices"

// walk steps over a tensor row by row, with neighbouring axes joined where
// every operand allows it, so that an elementwise pass over plain tensors is
// one long row.
type walk[T any] struct {
	ops   []operand[T]
	n     int       // joined axes without the innermost
	dims  [6]int    // their extents, outermost first
	outer [6][3]int // stride of each operand along them
	inner int       // elements of a row
	step  [3]int    // 0 or 1: stride of each operand along the row
	rows  int
}

func newWalk[T any](dim shape, ops []operand[T]) walk[T] {
	type axis struct {
		n int
		s [3]int
	}
	axes := append(make([]axis, 0, 7), axis{n: 1}) // the innermost first
	for a := axW; a >= 0; a-- {
		if dim[a] == 1 {
			continue
		}
		next := axis{n: dim[a]}
		for k, o := range ops {
			next.s[k] = o.stride[a]
		}
		last := &axes[len(axes)-1]
		join := true
		for k := range ops {
			// An axis continues the one inside it if its stride is the inner extent times the inner stride; if both are
			// zero, it is a broadcast.
			if last.n != 1 && next.s[k] != last.s[k]*last.n {
				join = false
			}
		}
		if !join {
			axes = append(axes, next)
			continue
		}
		if last.n == 1 {
			last.s = next.s
		}
		last.n *= next.n
	}
	w := walk[T]{ops: ops, inner: axes[0].n, step: axes[0].s, rows: 1}
	for k := range ops {
		if w.step[k] > 1 {
			// A broadcast width leaves an inner stride above one: the rows then have one element, and the outer axes
			// walk them.
			w.inner, w.step = 1, [3]int{}
			axes = slices.Insert(axes, 0, axis{n: 1})
			break
		}
	}
	for i := len(axes) - 1; i > 0; i-- {
		w.dims[w.n], w.outer[w.n] = axes[i].n, axes[i].s
		w.n++
		w.rows *= axes[i].n
	}
	return w
}

// offsets returns the first element of a row in each operand.
func (w *walk[T]) offsets(row int) (off [3]int) {
	for i := w.n - 1; i >= 0; i-- {
		k := row % w.dims[i]
		row /= w.dims[i]
		for o := range w.ops {
			off[o] += k * w.outer[i][o]
		}
	}
	return off
}
