package passes

import (
	"slices"
	"sort"

	"github.com/zinc-compiler/zinc/ir"
)

// splitWide sets the inputs and outputs of the partitions, and divides engine partitions that have more of them than a
// procedure has buffer-access registers, or more tasks than its chain can have, into runs within these limits. Fused
// operations stay together.
func (s *State) splitWide(partitions []*Partition) []*Partition {
	surfaces(s.Func, partitions)
	if !slices.ContainsFunc(partitions, s.wide) {
		return partitions
	}
	numbers := ir.Number(s.Func.Body)
	left := ir.NewValueTable[int](numbers) // uses not yet seen, over the whole function
	add := func(v *ir.Value, n int) {
		if at := left.At(v); at != nil {
			*at += n
		}
	}
	eachUse(s.Func.Body, func(v *ir.Value) { add(v, 1) })
	index := ir.NewValueTable[int32](numbers)
	var out []*Partition
	for _, st := range partitions {
		if s.wide(st) {
			out = append(out, s.newWidePartition(st.Ops, &left, &index).split()...)
		} else {
			out = append(out, st)
		}
		for _, op := range st.Ops {
			op.Operands(func(_ *ir.Param, v *ir.Value) { add(v, -1) })
		}
	}
	surfaces(s.Func, out)
	return out
}

// wide reports whether a partition must be divided.
func (s *State) wide(st *Partition) bool {
	if st.Unit != ir.Engine {
		return false
	}
	tasks := 0
	for _, op := range st.Ops {
		tasks += s.tasksOf(op)
	}
	return len(st.Inputs)+len(st.Outputs) > s.Target.MaxSurfaces || tasks > s.Target.MaxTasks/chainShare
}

// chainShare is the divisor of a procedure's number of tasks that limits the sum of its operations' tasks, each
// operation lowered alone: together they may need further tasks that move data to where an operation expects it.
const chainShare = 2

// widePartition is an engine partition that is divided. Values have numbers, and what is known of them is in slices.
type widePartition struct {
	surfaces, tasks int // limits
	ops             []wideOp
	values          []wideValue
	// What a run has if it ends with an operation, for runs that begin where the next one does:
	reads *prefixSums // values that it reads and does not compute
	needs *prefixSums // those, and the values that it computes and that are read after it
}

// wideOp is an operation of the partition.
type wideOp struct {
	op            *ir.Op
	reads, writes []int32 // values by number, without constants
	tasks         int     // of the operations up to this one
	ends          bool    // whether a run may end here: no operation that is fused into one so far is still to come
}

// wideValue is a value of the partition.
type wideValue struct {
	defined int     // operation that computes it, -1 for one before the partition
	left    int     // uses outside of the partition, over the rest of the function
	readers []int32 // operations that read it, in order, without operations of earlier runs
}

// newWidePartition takes the uses of each value outside of earlier partitions, and a table without entries, which it
// returns so.
func (s *State) newWidePartition(ops []*ir.Op, left *ir.ValueTable[int], index *ir.ValueTable[int32]) *widePartition {
	w := &widePartition{
		surfaces: s.Target.MaxSurfaces, tasks: s.Target.MaxTasks / chainShare, ops: make([]wideOp, len(ops)),
	}
	operands := 0
	for _, op := range ops {
		op.Operands(func(*ir.Param, *ir.Value) { operands++ })
		operands += len(op.Results)
	}
	w.values = make([]wideValue, 0, len(ops))
	var numbered []*ir.Value
	list := make([]int32, 0, operands) // what operations read and write
	number := func(v *ir.Value, defined int) int32 {
		at := index.At(v)
		if *at == 0 {
			numbered = append(numbered, v)
			*at = int32(len(numbered))
			w.values = append(w.values, wideValue{defined: defined, left: left.Get(v)})
		}
		return *at - 1
	}
	rides := map[*ir.Op]bool{}
	tasks, open := 0, 0
	for i, op := range ops {
		o := &w.ops[i]
		if rides[op] {
			open--
		}
		open += len(s.Fused[op])
		tasks += s.tasksOf(op)
		o.op, o.tasks, o.ends = op, tasks, open <= 0
		for _, e := range s.Fused[op] {
			rides[e] = true
		}
		begin := len(list)
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if !v.IsConst() {
				n := number(v, -1)
				w.values[n].left--
				list = append(list, n)
			}
		})
		middle := len(list)
		for _, v := range op.Results {
			list = append(list, number(v, i))
		}
		o.reads, o.writes = list[begin:middle:middle], list[middle:]
	}
	for _, v := range numbered {
		index.Set(v, 0)
	}
	return w
}

// split divides the partition into runs.
func (w *widePartition) split() (out []*Partition) {
	w.index()
	cut := NoCut
	for first := 0; first < len(w.ops); {
		end, next := w.widest(first)
		st := &Partition{Unit: ir.Engine, Cut: cut, Ops: make([]*ir.Op, 0, end-first)}
		for i := first; i < end; i++ {
			st.Ops = append(st.Ops, w.ops[i].op)
			w.pass(i)
		}
		out, cut, first = append(out, st), next, end
	}
	return out
}

// index prepares the search for runs from the first operation on.
func (w *widePartition) index() {
	reads, needs := make([]prefix, len(w.ops)), make([]prefix, len(w.ops))
	w.makeReaders()
	for i := range w.ops {
		o := &w.ops[i]
		if !o.ends {
			needs[i].least = never
		}
		for _, n := range o.reads {
			v := &w.values[n]
			if len(v.readers) == 0 || v.readers[len(v.readers)-1] != int32(i) {
				v.readers = append(v.readers, int32(i))
			}
		}
	}
	w.reads, w.needs = newPrefixSums(reads), newPrefixSums(needs)
	for i := range w.values {
		if v := &w.values[i]; v.defined < 0 {
			w.read(v, 1)
		} else {
			w.output(v, 1)
		}
	}
}

// makeReaders makes room for the readers of each value.
func (w *widePartition) makeReaders() {
	counts, sum := make([]int, len(w.values)), 0
	for i := range w.ops {
		for _, n := range w.ops[i].reads {
			counts[n]++
			sum++
		}
	}
	all, begin := make([]int32, sum), 0
	for i, n := range counts {
		w.values[i].readers = all[begin : begin : begin+n]
		begin += n
	}
}

// read adds n to what runs read from the first reader of a value on.
func (w *widePartition) read(v *wideValue, n int32) {
	if len(v.readers) > 0 {
		w.reads.add(int(v.readers[0]), n)
		w.needs.add(int(v.readers[0]), n)
	}
}

// output adds n to what runs need that compute a value and end before its last reader.
func (w *widePartition) output(v *wideValue, n int32) {
	last := len(v.readers) - 1
	if last < 0 && v.left <= 0 {
		return // nothing reads it
	}
	w.needs.add(v.defined, n)
	if v.left <= 0 {
		w.needs.add(int(v.readers[last]), -n)
	}
}

// pass makes the next run begin after an operation: what it computes is then read, and what it reads is read by later
// operations alone.
func (w *widePartition) pass(i int) {
	for _, n := range w.ops[i].writes {
		v := &w.values[n]
		w.output(v, -1)
		w.read(v, 1)
	}
	for _, n := range w.ops[i].reads {
		if v := &w.values[n]; len(v.readers) > 0 && v.readers[0] == int32(i) {
			w.read(v, -1)
			v.readers = v.readers[1:]
			w.read(v, 1)
		}
	}
}

// widest returns the end of the longest run that begins with operation first, within the limits of the registers and
// the chain, at least one operation with those fused into it, and the limit that ends it.
func (w *widePartition) widest(first int) (int, Cut) {
	least := first
	for least < len(w.ops)-1 && !w.ops[least].ends {
		least++
	}
	tasks := w.tasks
	if first > 0 {
		tasks += w.ops[first-1].tasks
	}
	end := least + 1
	end += sort.Search(len(w.ops)-end, func(i int) bool { return w.ops[end+i].tasks > tasks })
	cut := CutRegisters
	if end < len(w.ops) {
		last := end - 1
		for !w.ops[last].ends && last > least {
			last--
		}
		if w.reads.upTo(last) <= int32(w.surfaces) {
			cut = CutTasks
		}
	}
	return max(least, w.needs.last(least, end, int32(w.surfaces))) + 1, cut
}
