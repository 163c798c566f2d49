package passes

import "github.com/zinc-compiler/zinc/ir"

// splitWide divides engine steps that have more surfaces than a procedure has buffer-access registers, or more tasks
// than its chain can have, into runs within these limits. Fused operations stay together.
func (s *State) splitWide(steps []*Step) []*Step {
	left := uses(s.Func) // uses not yet seen, over the whole function
	var out []*Step
	for _, st := range steps {
		if st.Unit == ir.Engine {
			out = append(out, s.newWideStep(st.Ops, left).split()...)
		} else {
			out = append(out, st)
		}
		for _, op := range st.Ops {
			op.Operands(func(_ *ir.Param, v *ir.Value) { left[v]-- })
		}
	}
	return out
}

// chainShare is the divisor of a procedure's number of tasks that limits the sum of its operations' tasks, each
// operation lowered alone: together they may need further tasks that move data to where an operation expects it.
const chainShare = 2

// wideStep is an engine step that may have to be divided. A run looks ahead as far as a chain of tasks reaches, from
// each cut, so values have numbers and what is known of them is in slices.
type wideStep struct {
	surfaces, tasks int // limits
	ops             []wideOp
	values          []wideValue
}

// wideOp is an operation of the step.
type wideOp struct {
	op            *ir.Op
	reads, writes []int32 // values by number, without constants
	tasks         int
	fused         int  // operations that are fused into it
	rides         bool // whether it is fused into another one
}

// wideValue is a value of the step.
type wideValue struct {
	left int // uses that are not in an earlier run, over the whole function
	// In the run with this number:
	defined, read int // the last run that defines or reads it
	open          int // uses still to come, of one that is defined in the run
}

func (s *State) newWideStep(ops []*ir.Op, left map[*ir.Value]int) *wideStep {
	w := &wideStep{
		surfaces: s.Target.MaxSurfaces, tasks: s.Target.MaxTasks / chainShare, ops: make([]wideOp, len(ops)),
	}
	numbers := map[*ir.Value]int32{}
	number := func(v *ir.Value) int32 {
		n, ok := numbers[v]
		if !ok {
			n = int32(len(w.values))
			numbers[v] = n
			w.values = append(w.values, wideValue{left: left[v]})
		}
		return n
	}
	rides := map[*ir.Op]bool{}
	for i, op := range ops {
		o := &w.ops[i]
		o.op, o.tasks, o.fused, o.rides = op, s.tasksOf(op), len(s.Fused[op]), rides[op]
		for _, e := range s.Fused[op] {
			rides[e] = true
		}
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if !v.IsConst() {
				o.reads = append(o.reads, number(v))
			}
		})
		for _, v := range op.Results {
			o.writes = append(o.writes, number(v))
		}
	}
	return w
}

// split divides the step into runs.
func (w *wideStep) split() (out []*Step) {
	cut := NoCut
	for first, run := 0, 1; first < len(w.ops); run++ {
		n, next := w.widest(first, run)
		st := &Step{Unit: ir.Engine, Cut: cut}
		for i := range w.ops[first : first+n] {
			o := &w.ops[first+i]
			st.Ops = append(st.Ops, o.op)
			for _, v := range o.reads {
				w.values[v].left--
			}
		}
		out, cut, first = append(out, st), next, first+n
	}
	return out
}

// widest returns the length of the longest run that begins with operation first, within the limits of the registers and
// the chain, at least one operation with those fused into it, and the limit that ends it. Runs are numbered from 1.
func (w *wideStep) widest(first, run int) (int, Cut) {
	read, outputs, open, best, tasks := 0, 0, 0, 0, 0
	for i := first; i < len(w.ops); i++ {
		o := &w.ops[i]
		for _, n := range o.reads {
			switch v := &w.values[n]; {
			case v.defined == run:
				if v.open--; v.open == 0 {
					outputs--
				}
			case v.read != run:
				v.read = run
				read++
			}
		}
		for _, n := range o.writes {
			v := &w.values[n]
			v.defined, v.open = run, v.left
			if v.left > 0 {
				outputs++
			}
		}
		if o.rides {
			open--
		}
		if tasks += o.tasks; tasks > w.tasks && best > 0 {
			return best, CutTasks
		}
		if open += o.fused; open > 0 {
			continue
		}
		if read+outputs <= w.surfaces || best == 0 {
			best = i + 1 - first
		}
		if read > w.surfaces {
			break
		}
	}
	return best, CutRegisters
}
