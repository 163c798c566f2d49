package passes

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// weighRounds limits the rounds of placeByCost, and so its time: each takes little more than linear time, and after
// several rounds little changes.
const weighRounds = 8

// weighMargin is the part of its time, as a divisor, that a partition that is worth its dispatch must save to lose a
// stretch: less than 5 % is within the known error of the estimate (docs/cost.md).
const weighMargin = 20

// aloneShare is how many times longer an operation may take alone than in a chain of tasks, where a neighbour's result
// is in L2.
const aloneShare = 2

type nanoseconds int64

// String returns the time with three digits.
func (t nanoseconds) String() string {
	if t < 1e3 {
		return fmt.Sprintf("%d ns", int64(t))
	}
	if t < 999.5e3 {
		return fmt.Sprintf("%.3g us", float64(t)/1e3)
	}
	return fmt.Sprintf("%.3g ms", float64(t)/1e6)
}

// placeByCost sends to the CPU what it does sooner. It orders the operations into partitions as partition does and
// keeps an engine partition whole if a dispatch does its operations sooner than the CPU: the dispatch itself, handing
// over the partition's inputs and outputs, and its tasks. Of a partition that the CPU does sooner, the stretches of
// operations that are worth a dispatch of their own stay, and the rest goes to the CPU (cheapest). What goes and its
// neighbours on the CPU can then become one call, which may change what other partitions contain, so it begins again
// until nothing changes. Partitions are weighed independently, so the choices of one round do not depend on each
// other's order. It reports whether the share matters: whether a partition is worth its dispatch.
func (x *weighing) placeByCost(share nanoseconds) (matters bool) {
	s, needs := x.s, newNeeds(x.s.Func.Body)
	for range weighRounds {
		changed := false
		partitions := s.splitWide(needs.fewest())
		for _, st := range partitions {
			if st.Unit != ir.Engine {
				continue
			}
			w := x.weigh(st)
			w.share = share
			least := nanoseconds(0)
			if whole := w.whole(); whole.pays() {
				matters = true
				least = whole.engine / weighMargin
			}
			for _, r := range w.cheapest() {
				if r.engine-r.cpu < least {
					continue
				}
				changed = true
				s.refuseStretch(st, r)
			}
		}
		if !changed {
			break
		}
		s.placeCasts()
	}
	return matters
}

// refuseStretch sends a stretch of a partition's operations to the CPU.
func (s *State) refuseStretch(st *Partition, r stretch) {
	with := ""
	if r.end-r.begin > 1 {
		with = "with the operations next to it "
	}
	no := target.Refuse(target.RuleCut, "estimate on the engine", r.engine, "less than the CPU's "+r.cpu.String(),
		fmt.Sprintf("kept on the CPU: %s%s there, %s on the engine, copies included", with, r.cpu, r.engine))
	for _, op := range st.Ops[r.begin:r.end] {
		s.refuse(op, op.Place.Rule, no)
	}
}

// balance is what the operations of an engine partition take on either unit.
type balance struct {
	engine, cpu []nanoseconds // of operation i
	// share is the divisor of the time on the engine of the operations of a partition that is worth its dispatch.
	share nanoseconds
	// in[i] is what it takes to hand over to the engine what is computed before operation i and read from there on, the
	// partition's inputs for 0. out[i] is what it takes to hand it back, the partition's outputs for the number of
	// operations.
	in, out  []nanoseconds
	dispatch nanoseconds
}

// stretch is a part of a partition that the CPU does sooner: what it takes on either unit, with the handing over and
// the dispatch that this choice costs.
type stretch struct {
	begin, end  int
	engine, cpu nanoseconds
}

// weighing has what the times of partitions of any placement of a state are estimated from.
type weighing struct {
	s       *State
	numbers *ir.Numbering
	cpu     []nanoseconds           // of operations, by number
	states  map[*ir.Value]bool      // states and the values that become their contents
	last    ir.ValueTable[lastRead] // of values
}

// lastRead is the place after the last reader of a value in a partition.
type lastRead struct {
	partition *Partition
	at        int
}

func (s *State) newWeighing() *weighing {
	n := ir.Number(s.Func.Body)
	return &weighing{
		s: s, numbers: n, cpu: s.cpuTimes(), states: s.stateValues(), last: ir.NewValueTable[lastRead](n),
	}
}

// cpuTimes returns what each operation takes on the CPU. The parts of a decomposition share the time of the source's
// operation, which is what the CPU does if it has all of them (restoreSources).
func (s *State) cpuTimes() []nanoseconds {
	times := make([]nanoseconds, len(s.Func.Body.Ops))
	sums := map[string]nanoseconds{}      // of the parts, by first result of the source's operation
	parts := map[string]*decomposedFrom{} // of what, likewise
	for i, op := range s.Func.Body.Ops {
		times[i] = nanoseconds(s.CPUTime(op))
		if of, ok := s.parts[op]; ok {
			sums[of.Result] += times[i]
			parts[of.Result] = &of
		}
	}
	if len(sums) == 0 || s.Reference == nil {
		return times
	}
	sources := make(map[string]nanoseconds, len(sums))
	for _, op := range s.Reference.Body.Ops {
		if len(op.Results) == 0 || sums[op.Results[0].Name] == 0 {
			continue
		}
		// The name may belong to a read of a state, whose value took it.
		if of := parts[op.Results[0].Name]; of.Operation == op.Def.Name {
			source := *op
			source.InPlace = of.InPlace
			sources[of.Result] = nanoseconds(s.CPUTime(&source))
		}
	}
	for i, op := range s.Func.Body.Ops {
		of, ok := s.parts[op]
		if !ok {
			continue
		}
		if whole, ok := sources[of.Result]; ok {
			times[i] = nanoseconds(float64(times[i]) / float64(sums[of.Result]) * float64(whole))
		}
	}
	return times
}

// stateValues returns the states and the values that become their contents.
func (s *State) stateValues() map[*ir.Value]bool {
	states := map[*ir.Value]bool{}
	for _, x := range s.States {
		states[x.Value] = true
		if x.Result >= 0 {
			states[s.Func.Body.Outputs[x.Result]] = true
		}
	}
	return states
}

// weigh estimates a partition's times. States are not handed over.
func (x *weighing) weigh(st *Partition) balance {
	s, n := x.s, len(st.Ops)
	w := balance{
		engine: make([]nanoseconds, n),
		cpu:    make([]nanoseconds, n),
		in:     make([]nanoseconds, n+1),
		out:    make([]nanoseconds, n+1),
	}
	for i, op := range st.Ops {
		w.engine[i], w.cpu[i] = nanoseconds(op.Alone.Nanos), x.cpu[x.numbers.Op(op)]
		op.Reads(func(v *ir.Value) { x.last.Set(v, lastRead{st, i}) })
	}
	for _, v := range st.Outputs {
		x.last.Set(v, lastRead{st, n})
	}
	live := make([]int64, n+2) // bytes alive before operation i, as differences
	alive := func(v *ir.Value, from int) {
		if to := x.last.Get(v); to.partition == st && !x.states[v] {
			live[from] += max(0, v.Type.Bytes())
			live[to.at+1] -= max(0, v.Type.Bytes())
		}
	}
	for _, v := range st.Inputs {
		alive(v, 0)
	}
	for i, op := range st.Ops {
		for _, v := range op.Results {
			alive(v, i+1)
		}
	}
	w.dispatch = nanoseconds(s.DispatchTime(0, 0))
	bytes := int64(0)
	for i := range w.in {
		bytes += live[i]
		w.in[i] = nanoseconds(s.DispatchTime(bytes, 0)) - w.dispatch
		w.out[i] = nanoseconds(s.DispatchTime(0, bytes)) - w.dispatch
	}
	return w
}

// whole returns what the partition takes on either unit.
func (w balance) whole() stretch { return w.stretch(0, len(w.engine)) }

// pays reports whether the engine does a stretch sooner than the CPU.
func (s stretch) pays() bool { return s.engine < s.cpu }

// cheapest returns the stretches that the CPU does sooner, none if the partition is best left whole. A dispatch can
// begin and end anywhere in the partition's order; the least sum is found in one pass.
//
// A partition that is worth its dispatch as a whole loses only what the CPU does sooner even if each operation takes no
// more than its share of the time.
func (w balance) cheapest() []stretch {
	n := len(w.engine)
	share := nanoseconds(1)
	if w.whole().pays() {
		share = w.share
	}
	// onCPU and onEngine are the least times of the operations so far if the last one is there; stays[i] tells whether
	// the best way that ends there had operation i-1 on the same unit.
	onCPU, onEngine := nanoseconds(0), w.dispatch+w.in[0]
	stays := make([][2]bool, n)
	for i := range n {
		leave, enter := onEngine+w.out[i], onCPU+w.dispatch+w.in[i]
		stays[i] = [2]bool{i == 0 || onCPU <= leave, i == 0 || onEngine <= enter}
		if i > 0 {
			onCPU, onEngine = min(onCPU, leave), min(onEngine, enter)
		}
		onCPU += w.cpu[i]
		onEngine += w.engine[i] / share
	}
	onEngine += w.out[n]
	var parts []stretch
	unit := 0
	if onEngine < onCPU {
		unit = 1
	}
	for end, i := n, n-1; i >= 0; i-- {
		if stays[i][unit] && i > 0 {
			continue
		}
		if unit == 0 {
			parts = append(parts, w.stretch(i, end))
		}
		end, unit = i, 1-unit
	}
	return parts
}

// stretch returns what a part of the partition takes on either unit.
func (w balance) stretch(begin, end int) stretch {
	n := len(w.engine)
	r := stretch{begin: begin, end: end}
	for i := begin; i < end; i++ {
		r.engine += w.engine[i]
		r.cpu += w.cpu[i]
	}
	// On the CPU, the part reads what the engine hands back before it, and hands over what it reads after it.
	if begin == 0 {
		r.engine += w.in[0]
	} else {
		r.cpu += w.out[begin]
	}
	if end == n {
		r.engine += w.out[n]
	} else {
		r.cpu += w.in[end]
	}
	switch {
	case begin == 0 && end == n:
		r.engine += w.dispatch
	case begin > 0 && end < n:
		r.cpu += w.dispatch
	}
	return r
}

// dropConstantPartitions sends to the CPU every engine partition that reads only constants, since a procedure needs an
// input. The first operation of such a partition does too.
func (s *State) dropConstantPartitions() {
	defer s.placeCasts()
	if !slices.ContainsFunc(s.Func.Body.Ops, func(op *ir.Op) bool { return op.Place.Unit == ir.Engine && !live(op) }) {
		return
	}
	partitions := s.splitWide(newNeeds(s.Func.Body).fewest())
	for _, st := range partitions {
		if st.Unit != ir.Engine || len(st.Inputs) > 0 {
			continue
		}
		for _, op := range st.Ops {
			s.refuse(op, op.Place.Rule, target.Refuse(target.RuleConstants, "operands of the partition",
				"only constants", "a live value",
				op.Def.Name+" has only constant operands, and the operations next to it are on the engine"))
		}
	}
}

// live reports whether an operation reads a value that is not known at compile time.
func live(op *ir.Op) bool {
	found := false
	op.Reads(func(v *ir.Value) { found = found || !v.IsConst() })
	return found
}

// needsCPU reports whether the CPU has operations that the engine does not accept.
func (s *State) needsCPU() bool {
	for _, op := range s.Func.Body.Ops {
		if op.Place.Unit != ir.CPU {
			continue
		}
		no := s.Refusals[op]
		if no == nil {
			return true
		}
		if v, _ := no.Verdict(); v != target.NotWorthIt {
			return true
		}
	}
	return false
}
