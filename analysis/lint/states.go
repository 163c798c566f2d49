package lint

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// A state holds zeros at first and then what calls write to it, so its range is the least fixpoint of the writes. The
// body is judged in the order of its dependences, with an edge from every write of a state to its reads: only the
// operations of a cycle are judged repeatedly.

// stateful sets the ranges of the states and of everything else in a body that has states without a passed range.
func (a *analysis) stateful(states []*ir.Value) {
	a.written = map[*ir.Value]Interval{}
	for _, v := range states {
		a.written[v] = Interval{}
		a.setRange(v, Interval{}, Interval{})
	}
	ops := a.fn.Body.Ops
	needs := a.dependences(states)
	for _, group := range components(needs) {
		slices.Sort(group)
		var cycle []*ir.Op
		for _, at := range group {
			if at < len(ops) {
				cycle = append(cycle, ops[at])
				continue
			}
			s := states[at-len(ops)] // after what writes it, unless that depends on it
			a.setRange(s, a.written[s], a.written[s])
		}
		a.fixpoint(cycle, len(group) > 1)
	}
}

// dependences returns a graph of the operations of a body, with those in their blocks, and after them the states: an
// operation needs those whose results it reads and the states it reads, a state those that write it.
func (f *function) dependences(states []*ir.Value) [][]int {
	ops := f.fn.Body.Ops
	needs := make([][]int, len(ops)+len(states))
	node := ir.NewValueMap[int](f.numbers) // what defines a value
	for i, s := range states {
		node.Set(s, len(ops)+i)
	}
	for i, op := range ops {
		add := func(v *ir.Value) {
			if at, ok := node.Lookup(v); ok {
				needs[i] = append(needs[i], at)
			}
		}
		eachWithin(op, func(o *ir.Op) {
			if s, v := stateOf(o); v != nil {
				add(v)
				if at, free := node.Lookup(s); free {
					needs[at] = append(needs[at], i)
				}
				return
			}
			o.Operands(func(_ *ir.Param, v *ir.Value) { add(v) })
			for _, b := range o.Blocks {
				for _, v := range b.Outputs {
					add(v)
				}
			}
		})
		for _, r := range op.Results {
			node.Set(r, i)
		}
	}
	return needs
}

// eachWithin visits an operation and those in its blocks.
func eachWithin(op *ir.Op, visit func(*ir.Op)) {
	visit(op)
	for _, b := range op.Blocks {
		for _, inner := range b.Ops {
			eachWithin(inner, visit)
		}
	}
}

// stateOf returns the state that an operation reads or writes, and the value that it writes, nil if it only reads.
func stateOf(op *ir.Op) (state, written *ir.Value) {
	s, v := op.Def.StateParams()
	if s == "" {
		return nil, nil
	}
	if v == "" {
		return op.Arg(s), nil
	}
	return op.Arg(s), op.Arg(v)
}

// Bounds of the passes over a cycle: after plainPasses a bound that still grows jumps to the next power of 16, after
// maxPasses every state of the cycle has the range of its type. Bounds that jumped are then tightened.
const (
	plainPasses   = 4
	maxPasses     = 40
	tightenPasses = 3
)

// fixpoint judges operations until the states that they write hold what is written to them. Others are judged once.
func (a *analysis) fixpoint(ops []*ir.Op, cyclic bool) {
	if !cyclic {
		a.each(ops)
		return
	}
	before := map[*ir.Value]Interval{} // what operations outside the cycle write
	for _, op := range ops {
		eachWithin(op, func(o *ir.Op) {
			if s, v := stateOf(o); v != nil {
				if r, free := a.written[s]; free {
					before[s] = r
				}
			}
		})
	}
	// pass judges the cycle with states of the ranges rs and returns what they then hold.
	pass := func(rs map[*ir.Value]Interval) (held map[*ir.Value]Interval, stable bool) {
		for s, r := range rs {
			a.written[s] = before[s]
			a.setRange(s, r, r)
		}
		a.each(ops)
		held, stable = map[*ir.Value]Interval{}, true
		for s, r := range rs {
			held[s] = a.written[s]
			stable = stable && r.Hull(held[s]) == r
		}
		return held, stable
	}
	rs, widened := before, false
	for n := 1; ; n++ {
		held, stable := pass(rs)
		if stable {
			break
		}
		next := map[*ir.Value]Interval{}
		for s, r := range rs {
			next[s] = r.Hull(held[s])
			switch d := s.Type.DType; {
			case n >= maxPasses:
				next[s] = interval.OfType(d)
			case n >= plainPasses:
				next[s], widened = widen(r, next[s], d), true
			}
		}
		rs = next
	}
	for n := 0; widened && n < tightenPasses; n++ {
		held, _ := pass(rs)
		if _, stable := pass(held); !stable {
			pass(rs)
			break
		}
		rs = held
	}
	for s, r := range rs {
		a.written[s] = r
		a.setRange(s, r, r)
	}
}

func (a *analysis) each(ops []*ir.Op) {
	for _, op := range ops {
		a.op(op)
	}
}

// widen returns a range whose bounds that grew jump to the next power of 16, or to the bound of the type.
func widen(old, r Interval, d ir.DType) Interval {
	of := interval.OfType(d)
	top := interval.FiniteOf(d)
	if r.Hi > old.Hi {
		if r.Hi = jump(r.Hi); r.Hi > top.Hi {
			r.Hi = of.Hi
		}
	}
	if r.Lo < old.Lo {
		if r.Lo = -jump(-r.Lo); r.Lo < top.Lo {
			r.Lo = of.Lo
		}
	}
	return r
}

// jump returns the next power of 16, and 0 for what is at most 0.
func jump(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return math.Exp2(4 * math.Ceil(math.Log2(x)/4))
}

// components returns the strongly connected components of a graph, each after those that it needs (Tarjan's algorithm,
// without recursion since chains are as long as programs).
func components(needs [][]int) (out [][]int) {
	index, low, on := make([]int, len(needs)), make([]int, len(needs)), make([]bool, len(needs)) // indices are from 1
	edge := make([]int, len(needs))                                                              // the next to follow
	var path, open []int
	count := 0
	enter := func(i int) {
		count++
		index[i], low[i], on[i] = count, count, true
		path, open = append(path, i), append(open, i)
	}
	for root := range needs {
		if index[root] != 0 {
			continue
		}
		for enter(root); len(path) > 0; {
			i := path[len(path)-1]
			if edge[i] < len(needs[i]) {
				j := needs[i][edge[i]]
				edge[i]++
				if index[j] == 0 {
					enter(j)
				} else if on[j] {
					low[i] = min(low[i], index[j])
				}
				continue
			}
			if path = path[:len(path)-1]; len(path) > 0 {
				up := path[len(path)-1]
				low[up] = min(low[up], low[i])
			}
			if low[i] != index[i] {
				continue
			}
			at := len(open) - 1
			for open[at] != i {
				at--
			}
			for _, j := range open[at:] {
				on[j] = false
			}
			out = append(out, slices.Clone(open[at:]))
			open = open[:at]
		}
	}
	return out
}
