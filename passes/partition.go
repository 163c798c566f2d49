package passes

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// Partition is a run of operations of one unit, in order: one engine procedure, one CPU call, or one conversion on the
// way between them.
type Partition struct {
	Unit    ir.Unit
	Cut     Cut // why it does not belong to the engine partition before it
	Ops     []*ir.Op
	Inputs  []*ir.Value // defined outside and read inside, in order of first use; no constants
	Outputs []*ir.Value // defined inside and read outside, in order of definition
}

// Cut is the limit of a procedure that separates two engine partitions with nothing on another unit between them.
type Cut int

const (
	NoCut        Cut = iota
	CutRegisters     // a procedure's buffer-access registers
	CutTasks         // its chain of tasks
)

// partition orders the operations: all that are ready on one unit, then all that are ready on the other, and so on.
// Given the unit to begin with, that takes as few engine partitions as the dependences between engine and CPU allow;
// both units are tried. A partition with more surfaces than a procedure has registers for, or with more tasks than half
// a chain can have, is divided.
func partition(s *State) error {
	best := newNeeds(s.Func.Body).fewest()
	s.Partitions = s.splitWide(best)
	s.Func.Body.Ops = s.Func.Body.Ops[:0]
	for _, st := range best {
		s.Func.Body.Ops = append(s.Func.Body.Ops, st.Ops...)
	}
	s.markInPlace()
	return nil
}

// fewest orders the operations, starting with the unit that leads to fewer engine partitions.
func (n *needs) fewest() []*Partition {
	a := n.order(ir.Engine)
	if enginePartitions(a) < 2 {
		return a // no order has fewer
	}
	if b := n.order(ir.CPU); enginePartitions(b) < enginePartitions(a) {
		return b
	}
	return a
}

func enginePartitions(partitions []*Partition) int {
	n := 0
	for _, st := range partitions {
		if st.Unit == ir.Engine {
			n++
		}
	}
	return n
}

// needs is what each operation of a list waits for: the operations that compute what it reads and, of operations with
// an effect, the one before.
type needs struct {
	ops   []*ir.Op
	waits []int32 // operations that each one waits for
	// The operations that wait for operation i are users[first[i]:first[i+1]].
	first []int32
	users []int32
}

func newNeeds(b *ir.Block) *needs {
	ops, numbers := b.Ops, ir.Number(b)
	n := &needs{ops: ops, waits: make([]int32, len(ops)), first: make([]int32, len(ops)+1)}
	// pairs are the waits in order: an operation, and one that it waits for.
	pairs := make([][2]int32, 0, 2*len(ops))
	last := int32(-1)               // the latest operation with an effect
	seen := make([]int32, len(ops)) // one more than the latest operation that waits for this one
	for i, op := range ops {
		begin := len(pairs)
		need := func(j int32) {
			if j != int32(i) && seen[j] != int32(i)+1 {
				seen[j] = int32(i) + 1
				pairs = append(pairs, [2]int32{int32(i), j})
			}
		}
		op.Reads(func(v *ir.Value) {
			if j := numbers.Op(v.Def); j >= 0 {
				need(int32(j))
			}
		})
		if op.Def.Effect != ir.Pure {
			if last >= 0 {
				need(last)
			}
			last = int32(i)
		}
		n.waits[i] = int32(len(pairs) - begin)
	}
	for _, p := range pairs {
		n.first[p[1]+1]++
	}
	for i := range ops {
		n.first[i+1] += n.first[i]
	}
	n.users = make([]int32, len(pairs))
	next := slices.Clone(n.first[:len(ops)])
	for _, p := range pairs {
		n.users[next[p[1]]] = p[0]
		next[p[1]]++
	}
	return n
}

// queue contains ready operations by their position in the source, as a heap.
type queue []int32

func (q *queue) push(x int32) {
	h := append(*q, x)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2] > x {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
	*q = h
}

func (q *queue) pop() int32 {
	h := *q
	top, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	for i := 0; len(h) > 0; {
		least := 2*i + 1
		if least+1 < len(h) && h[least+1] < h[least] {
			least++
		}
		if least >= len(h) || h[least] >= x {
			h[i] = x
			break
		}
		h[i] = h[least]
		i = least
	}
	*q = h
	return top
}

// order orders the operations into partitions, beginning with a unit.
func (n *needs) order(first ir.Unit) []*Partition {
	waits := slices.Clone(n.waits)
	ready := map[ir.Unit]*queue{ir.Engine: {}, ir.CPU: {}, ir.Transfer: {}}
	for i, op := range n.ops {
		if waits[i] == 0 {
			ready[op.Place.Unit].push(int32(i))
		}
	}
	var partitions []*Partition
	run := func(unit ir.Unit) bool {
		st := &Partition{Unit: unit}
		q := ready[unit]
		for len(*q) > 0 {
			i := q.pop()
			st.Ops = append(st.Ops, n.ops[i])
			for _, j := range n.users[n.first[i]:n.first[i+1]] {
				if waits[j]--; waits[j] == 0 {
					ready[n.ops[j].Place.Unit].push(j)
				}
			}
			if unit == ir.Transfer {
				break
			}
		}
		if len(st.Ops) == 0 {
			return false
		}
		partitions = append(partitions, st)
		return true
	}
	unit := first
	for {
		did := false
		for run(ir.Transfer) {
			did = true
		}
		did = run(unit) || did
		other := ir.CPU
		if unit == ir.CPU {
			other = ir.Engine
		}
		if !did && len(*ready[other]) == 0 {
			return partitions
		}
		unit = other
	}
}

// surfaces sets the inputs and outputs of each partition of f.
func surfaces(f *ir.Func, partitions []*Partition) {
	type fact struct {
		home, reader *Partition // that computes the value, and the latest other one that reads it
		wanted       bool       // by another partition or the caller
	}
	facts := ir.NewValueTable[fact](ir.Number(f.Body))
	for _, st := range partitions {
		st.Inputs, st.Outputs = nil, nil
		for _, op := range st.Ops {
			for _, v := range op.Results {
				facts.At(v).home = st
			}
		}
	}
	for _, v := range f.Body.Outputs {
		if x := facts.At(v); x != nil {
			x.wanted = true
		}
	}
	for _, st := range partitions {
		read := func(v *ir.Value) {
			x := facts.At(v)
			if x == nil || x.home == st || x.reader == st {
				return
			}
			x.reader, x.wanted = st, true
			st.Inputs = append(st.Inputs, v)
		}
		for _, op := range st.Ops {
			op.Reads(read)
		}
	}
	for _, st := range partitions {
		for _, op := range st.Ops {
			for _, v := range op.Results {
				if facts.At(v).wanted {
					st.Outputs = append(st.Outputs, v)
				}
			}
		}
	}
}

// tasksOf returns the number of tasks of an operation lowered alone, 0 for one that is not on the engine. It is known
// from placement, unless the passes were resumed after it.
func (s *State) tasksOf(op *ir.Op) int {
	if !op.Alone.Known && op.Place.Unit == ir.Engine {
		a, _ := s.Accept(op) // one that the engine refuses was placed by hand; lowering reports it
		op.Alone = ir.Alone{Tasks: int32(a.Tasks), Known: true}
	}
	return int(op.Alone.Tasks)
}
