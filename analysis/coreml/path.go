package coreml

import (
	"math"
	"slices"
)

// Cost is a time in femtoseconds. Costs are whole numbers, so that sums of equal estimates are equal in any order.
type Cost int64

// never is the cost of what a backend cannot do. It is above every sum: a sum stops at it.
const never Cost = math.MaxInt64

// costOf rounds milliseconds to a Cost.
func costOf(ms float64) Cost {
	const perMS = 1e12
	if x := ms * perMS; x < float64(never/4) {
		return Cost(math.Round(x))
	}
	return never / 4
}

// MS returns the cost in milliseconds.
func (c Cost) MS() float64 { return float64(c) / 1e12 }

// plus adds costs, at most never.
func (c Cost) plus(d Cost) Cost {
	if c > never-d {
		return never
	}
	return c + d
}

// step is an operation on the way: its cost on each backend, never where it cannot run.
type step [NumBackends]Cost

// gain returns what the engine saves of a step against the CPU, 0 if it cannot run there.
func (s *step) gain() Cost {
	if s[Engine] == never {
		return 0
	}
	return min(s[ClassicCPU], s[BNNS]) - s[Engine]
}

// moves are the costs of changes of backend; with the caller as the last place.
type moves [NumBackends + 1][NumBackends + 1]Cost

func newMoves(r *Rules) (m moves) {
	for from := range m {
		for to := range m {
			m[from][to] = never
			if ms, ok := r.Change(Place(from), Place(to)); ok {
				m[from][to] = costOf(ms)
			}
		}
	}
	return m
}

// way is the cheapest way through steps. before and after are, for each step and backend, the cost of the cheapest way
// from the caller to it with the step's own cost, and from it to the caller without.
type way struct {
	before, after []step
	chosen        []Backend
	best          Cost
}

// cheapest finds the cheapest way through the steps. Of backends with equal costs the first counts. Time and memory are
// linear in the steps.
func cheapest(steps []step, m *moves) *way {
	w := &way{before: make([]step, len(steps)), after: make([]step, len(steps)), chosen: make([]Backend, len(steps))}
	if len(steps) == 0 {
		return w
	}
	last := len(steps) - 1
	for i, s := range steps {
		for b := range NumBackends {
			reach := m[Caller][b]
			if i > 0 {
				reach = never
				for a := range NumBackends {
					reach = min(reach, w.before[i-1][a].plus(m[a][b]))
				}
			}
			w.before[i][b] = reach.plus(s[b])
		}
	}
	for i := last; i >= 0; i-- {
		for b := range NumBackends {
			rest := m[b][Caller]
			if i < last {
				rest = never
				for a := range NumBackends {
					rest = min(rest, m[b][a].plus(steps[i+1][a]).plus(w.after[i+1][a]))
				}
			}
			w.after[i][b] = rest
		}
	}
	w.best = never
	for b := range NumBackends {
		w.best = min(w.best, w.through(last, b))
	}
	w.choose(m)
	return w
}

// choose follows the cheapest way back from the end.
func (w *way) choose(m *moves) {
	last := len(w.chosen) - 1
	if w.best == never { // the sum is too large to compare ways: the CPU can run all of it
		for i := range w.chosen {
			w.chosen[i] = ClassicCPU
		}
		return
	}
	for b := range NumBackends {
		if w.through(last, b) == w.best {
			w.chosen[last] = b
			break
		}
	}
	for i := last; i > 0; i-- {
		to := w.chosen[i]
		least := never
		for a := range NumBackends {
			if c := w.before[i-1][a].plus(m[a][to]); c < least {
				least, w.chosen[i-1] = c, a
			}
		}
	}
}

// through returns the cost of the cheapest way on which the step runs on the backend.
func (w *way) through(i int, b Backend) Cost { return w.before[i][b].plus(w.after[i][b]) }

// ties returns the devices, besides the chosen one, that a step has on another way of the same cost.
func (w *way) ties(i int) (out []Device) {
	for b := range NumBackends {
		d := b.Device()
		if w.best != never && w.through(i, b) == w.best && d != w.chosen[i].Device() && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// using returns the cost of the cheapest way on which at least one step runs on the backend.
func (w *way) using(b Backend) Cost {
	least := never
	for i := range w.chosen {
		least = min(least, w.through(i, b))
	}
	return least
}

// without returns the steps with a backend forbidden.
func without(steps []step, b Backend) []step {
	out := slices.Clone(steps)
	for i := range out {
		out[i][b] = never
	}
	return out
}
