package passes

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// weighRounds limits the rounds of weighSteps, and so its time: each takes little more than linear time, and after
// several rounds little changes.
const weighRounds = 8

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

// weighSteps chooses the cut by time. It orders the operations into steps as cutSteps does, and sends an engine step to
// the CPU if the CPU does its operations sooner than a dispatch: the dispatch itself, handing over the step's inputs
// and outputs, and its tasks, each operation lowered alone. The step and its neighbours on the CPU can then become one
// call, which may change what other steps contain, so it begins again until nothing changes. Steps are weighed
// independently, so the choices of one round do not depend on each other's order.
//
// A function that the engine accepts whole and in one step is an engine program, however small. The choice concerns
// only functions that the CPU has a part of anyway, or whose steps are separated by conversions on the CPU.
func (s *State) weighSteps() {
	if s.CPUTime == nil || s.DispatchTime == nil || !s.needsCPU() && engineSteps(s.fewest()) < 2 {
		return
	}
	for range weighRounds {
		steps := s.splitWide(s.fewest())
		surfaces(s.Func, steps)
		changed := false
		for _, st := range steps {
			if st.Unit != ir.Engine {
				continue
			}
			engine, cpu := s.stepTime(st), nanoseconds(0)
			for _, op := range st.Ops {
				cpu += nanoseconds(s.CPUTime(op))
			}
			if engine < cpu {
				continue
			}
			changed = true
			for _, op := range st.Ops {
				s.refuse(op, op.Place.Rule, &target.Refusal{
					Rule:  target.RuleCut,
					What:  "estimate on the engine",
					Have:  engine.String(),
					Limit: "less than the CPU's " + cpu.String(),
					Reason: fmt.Sprintf(
						"would be a dispatch of %s with the operations around it; the CPU is estimated to take %s",
						engine, cpu),
				})
			}
		}
		if !changed {
			return
		}
		s.placeCasts()
	}
}

// dropConstantSteps sends to the CPU every engine step that reads only constants, since a procedure needs an input.
func (s *State) dropConstantSteps() {
	steps := s.splitWide(s.fewest())
	surfaces(s.Func, steps)
	for _, st := range steps {
		if st.Unit != ir.Engine || len(st.Inputs) > 0 {
			continue
		}
		for _, op := range st.Ops {
			s.refuse(op, op.Place.Rule, &target.Refusal{
				Rule:   target.RuleConstants,
				What:   "operands of the step",
				Have:   "only constants",
				Limit:  "a live value",
				Reason: op.Def.Name + " has only constant operands, and the operations next to it are on the engine",
			})
		}
	}
	s.placeCasts()
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

// stepTime estimates an engine step: the dispatch, its inputs and outputs except states, which are not moved, and the
// tasks.
func (s *State) stepTime(st *Step) nanoseconds {
	states := map[*ir.Value]bool{}
	for _, x := range s.States {
		states[x.Value] = true
		if x.Result >= 0 {
			states[s.Func.Body.Outputs[x.Result]] = true
		}
	}
	bytes := int64(0)
	for _, vs := range [][]*ir.Value{st.Inputs, st.Outputs} {
		for _, v := range vs {
			if !states[v] {
				bytes += max(0, v.Type.Bytes())
			}
		}
	}
	t := s.DispatchTime(bytes)
	for _, op := range st.Ops {
		t += s.nanos[op]
	}
	return nanoseconds(t)
}
