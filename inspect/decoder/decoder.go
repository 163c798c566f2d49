// Package decoder says what a program with states is worth as a language model: tokens a second, memory, how many
// programs its constants need, and how long its first load takes.
//
// Input: the program as it is written, its functions after placement, and its report. Output: one answer, for text and
// JSON.
//
// Invariants: it compiles nothing, and its rates follow from the report.
package decoder

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/split"
)

// Ceiling is the size of the constants of one program from which Apple's compiler is assumed to fail.
const Ceiling = 2 << 30

// CeilingSource says where Ceiling is from.
const CeilingSource = "modelled: programs with 1.5 GB of constants are reported to compile, with 3.4 GB to fail " +
	"(ANEForge PR 45)"

// Answer is what a program with states is worth as a language model.
type Answer struct {
	Rates    []Rate   `json:"rates"`      // of each function, in each configuration of its shapes
	Memory   Memory   `json:"memory"`     // by part
	Programs Programs `json:"programs"`   // that the constants need
	Load     Load     `json:"first_load"` // on a system that has not compiled the model before
}

// Rate is the rate of one function.
type Rate struct {
	Function string `json:"function"` // in one configuration of its shapes
	// Tokens are the positions that a call adds to the states, 0 if zinc does not find them.
	Tokens int64     `json:"tokens_per_call,omitempty"`
	Call   cost.Time `json:"call_us"` // time of a call, with the dispatches of further programs
	// PerSecond are tokens a second if each call is full, or calls a second if their number is not known. Alone are
	// tokens a second if each call adds one, as generating them does.
	PerSecond float64 `json:"per_second"`
	Alone     float64 `json:"alone_per_second"` // with one token a call
}

// Memory is the memory of a model in use, in bytes.
type Memory struct {
	Stored        int64 `json:"stored_weight_bytes"` // constants as the model stores them
	Weights       int64 `json:"weight_bytes"`        // constants for the engine as zinc writes them
	States        int64 `json:"state_bytes"`         // all states, which functions share
	Intermediates int64 `json:"intermediate_bytes"`  // scratch, and tensors between dispatches, of the largest function
	Ports         int64 `json:"port_bytes"`          // inputs and outputs of the largest function
	Tasks         int64 `json:"task_bytes"`          // words of all tasks
}

// Programs says how many programs the constants need.
type Programs struct {
	Count   int    `json:"count,omitempty"` // 0 if the program cannot be cut so
	Ceiling int64  `json:"ceiling_bytes"`   // most constants of one program
	Source  string `json:"source"`          // of the ceiling
	Why     string `json:"why,omitempty"`   // why it cannot be cut
}

// Has reports whether a function of a program has states.
func Has(p *ir.Program) bool {
	return slices.ContainsFunc(p.Funcs, func(f *ir.Func) bool { return slices.ContainsFunc(f.Body.Params, isState) })
}

func isState(v *ir.Value) bool { return v.Type.Kind == ir.State }

// Source is what is taken from a program before it is compiled, which rewrites it.
type Source struct {
	stored, states int64
	programs       Programs
}

// Of reads a program that Has states. name is the function that is compiled, "" for all.
func Of(p *ir.Program, name string) *Source {
	s := &Source{stored: stored(p), programs: Programs{Count: 1, Ceiling: Ceiling, Source: CeilingSource}}
	states := map[string]int64{}
	for _, f := range p.Funcs {
		if name != "" && f.Name != name {
			continue
		}
		for _, v := range f.Body.Params {
			if isState(v) {
				states[v.Name] = max(states[v.Name], v.Type.Bytes())
			}
		}
		if s.stored <= Ceiling {
			continue
		}
		n, err := split.Count(f, split.Options{Bytes: Ceiling})
		if err != nil {
			s.programs.Count, s.programs.Why = 0, err.Error()
			break
		}
		s.programs.Count = max(s.programs.Count, n)
	}
	for _, n := range states {
		s.states += n
	}
	return s
}

// stored returns the bytes of the constants of a program; functions share a constant of one place in a file.
func stored(p *ir.Program) (n int64) {
	seen, places := map[*ir.Const]bool{}, map[string]bool{}
	for _, f := range p.Funcs {
		ir.Walk(f, func(op *ir.Op) {
			op.Operands(func(_ *ir.Param, v *ir.Value) {
				c := v.Const
				if c == nil || seen[c] || c.Blob != "" && places[c.Blob] {
					return
				}
				seen[c], places[c.Blob] = true, true
				n += int64(len(c.Data))
			})
		})
	}
	return n
}

// Answer completes the answer with the functions as they were placed and the report of each, in the same order,
// further lengths last. r is the report of the program.
func (s *Source) Answer(fs []*compile.Function, each []*compile.Report, r *compile.Report, t *target.Table) *Answer {
	a := &Answer{Programs: s.programs, Load: load(r)}
	a.Memory.Stored, a.Memory.States, a.Memory.Weights = s.stored, s.states, r.Weights
	for i, f := range each {
		x := Rate{Function: f.Function, Call: f.CallTime()}
		if n := s.programs.Count; n > 1 {
			x.Call += cost.Time(n-1) * cost.Overhead(t)
		}
		if i < len(fs) {
			x.Tokens = tokens(fs[i].Reference)
			a.Memory.Ports = max(a.Memory.Ports, ports(fs[i].Reference))
		}
		if x.Call > 0 {
			x.Alone = 1e9 / float64(x.Call)
			x.PerSecond = x.Alone * float64(max(x.Tokens, 1))
		}
		a.Memory.Intermediates = max(a.Memory.Intermediates, f.Scratch+f.Between)
		if i < len(r.Each()) {
			a.Memory.Tasks += f.TaskBytes
		}
		a.Rates = append(a.Rates, x)
	}
	slices.SortStableFunc(a.Rates, func(x, y Rate) int { return cmp.Compare(x.Tokens, y.Tokens) })
	return a
}

// ports returns the bytes of a function's inputs and outputs.
func ports(f *ir.Func) (n int64) {
	for _, vs := range [][]*ir.Value{f.Body.Params, f.Body.Outputs} {
		for _, v := range vs {
			if v.Type.Kind == ir.Tensor {
				n += max(0, v.Type.Bytes())
			}
		}
	}
	return n
}
