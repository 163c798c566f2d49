package engine

// walk steps over a tensor row by row, with neighbouring axes joined where
// every operand allows it, so that an elementwise pass over plain tensors is
// one long row.
type walk[T any] struct {
	ops   []operand[T]
	dims  []int    // joined axes, outermost first, without the innermost
	outer [][3]int // stride of each operand along them
	inner int      // elements of a row
	step  [3]int   // 0 or 1: stride of each operand along the row
	rows  int
}

func newWalk[T any](dim shape, ops []operand[T]) *walk[T] {
	type axis struct {
		n int
		s [3]int
	}
	axes := []axis{{n: 1}}
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
	w := &walk[T]{ops: ops, inner: axes[0].n, step: axes[0].s, rows: 1}
	for k := range ops {
		if w.step[k] > 1 {
			// A broadcast width leaves an inner stride above one: the rows then have one element, and the outer axes
			// walk them.
			w.inner, w.step = 1, [3]int{}
			axes = append([]axis{{n: 1}}, axes...)
			break
		}
	}
	for i := len(axes) - 1; i > 0; i-- {
		w.dims = append(w.dims, axes[i].n)
		w.outer = append(w.outer, axes[i].s)
		w.rows *= axes[i].n
	}
	return w
}

// offsets returns the first element of a row in each operand.
func (w *walk[T]) offsets(row int) (off [3]int) {
	for i := len(w.dims) - 1; i >= 0; i-- {
		k := row % w.dims[i]
		row /= w.dims[i]
		for o := range w.ops {
			off[o] += k * w.outer[i][o]
		}
	}
	return off
}
