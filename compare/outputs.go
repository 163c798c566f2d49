package compare

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/verify"
)

// step is one execution of a task.
type step struct {
	procedure string
	task      int
	nth       int // how often the task has run before
}

// given is what a task gave in one execution.
type given struct {
	step step
	sum  uint64 // over extent and patterns
}

// errFound ends a run that has shown what was looked for.
var errFound = errors.New("found")

// outputs runs the functions that both sides have on the same inputs, one call each,
// and compares the outputs and what the paired tasks give.
func (p *pairing) outputs(ctx context.Context, o Options) (out []*Change, err error) {
	var m [2]*sim.Machine
	for i, s := range []*Side{p.a, p.b} {
		if s.descriptor == nil {
			m[i], err = sim.LoadContainer(s.container)
		} else {
			m[i], err = sim.Load(s.container, s.descriptor)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	to, _ := match(m[0].Functions(), m[1].Functions())
	for i, f := range m[0].Functions() {
		if to[i] < 0 {
			continue // told at the level of the chain
		}
		for _, x := range m {
			if err := x.Select(f); err != nil {
				return nil, err
			}
		}
		c, err := p.call(ctx, m, f, o)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", f, err)
		}
		if c != nil {
			out = append(out, c)
		}
	}
	return out, nil
}

// call runs one function on both sides.
func (p *pairing) call(ctx context.Context, m [2]*sim.Machine, fn string, o Options) (*Change, error) {
	in, why, err := sharedInputs(m, o.Seed)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return &Change{Level: Outputs, Kind: Changed, Subject: "outputs of " + fn, Details: []string{"not run: " + why}}, nil
	}
	var trace [2][]given
	var res [2]map[string]interp.Tensor
	for i := range m {
		ran := map[step]int{}
		done := 0
		run := sim.Options{Numerics: numerics.ANE, Workers: o.Workers, CallBytes: o.CallBytes}
		run.Results = func(where string, task int, extent [5]int, patterns []uint16) {
			if done++; o.Progress != nil {
				o.Progress("run of side "+"AB"[i:i+1], done, done)
			}
			k := step{where, task, 0}
			n := ran[k]
			ran[k]++
			trace[i] = append(trace[i], given{step{where, task, n}, sum(extent, patterns)})
		}
		m[i].Reset()
		if res[i], err = m[i].Run(ctx, in, run); err != nil {
			return nil, fmt.Errorf("side %s: %w", "AB"[i:i+1], err)
		}
	}
	var d []string
	names := []string(nil)
	x, y, err := p.firstStep(trace)
	if err != nil {
		return nil, err
	}
	if x != nil {
		text, from, err := p.firstValue(ctx, m, in, x.step, y.step, o)
		if err != nil {
			return nil, err
		}
		d, names = append(d, text), from
	}
	d = append(d, outputDetails(m[0].Outputs(), res)...)
	if len(d) == 0 {
		return nil, nil
	}
	return &Change{Level: Outputs, Kind: Changed, Subject: "outputs of " + fn, Details: d, names: names}, nil
}

// sharedInputs makes inputs that both sides take, or says why there are none.
func sharedInputs(m [2]*sim.Machine, seed uint64) (in map[string]interp.Tensor, why string, err error) {
	types := map[string]ir.Type{}
	for _, x := range m[1].Inputs() {
		types[x.Name] = x.Type
	}
	in = map[string]interp.Tensor{}
	for _, x := range m[0].Inputs() {
		t, ok := types[x.Name]
		switch {
		case !ok:
			return nil, "B has no input " + x.Name, nil
		case !t.Equal(x.Type):
			return nil, "input " + x.Name + " is " + x.Type.String() + " and " + t.String(), nil
		case !t.Static():
			return nil, "the size of input " + x.Name + " is not known before it runs", nil
		}
		if in[x.Name], err = verify.Random(t, x.Name, seed); err != nil {
			return nil, "", err
		}
	}
	if len(types) != len(in) {
		return nil, "B has other inputs", nil
	}
	return in, "", nil
}

func sum(extent [5]int, patterns []uint16) uint64 {
	h := fnv.New64a()
	var b [4096]byte
	for _, e := range extent {
		binary.LittleEndian.PutUint64(b[:], uint64(e))
		h.Write(b[:8])
	}
	for len(patterns) > 0 {
		n := min(len(patterns), len(b)/2)
		for i, v := range patterns[:n] {
			binary.LittleEndian.PutUint16(b[2*i:], v)
		}
		h.Write(b[:2*n])
		patterns = patterns[n:]
	}
	return h.Sum64()
}

// firstStep returns the first execution of a paired task, in the order of side A,
// that gives something else on side B; nil where there is none.
func (p *pairing) firstStep(trace [2][]given) (x, y *given, err error) {
	if p.missing(decodable) != "" {
		return nil, nil, nil
	}
	a, err := p.a.tasksOf()
	if err != nil {
		return nil, nil, err
	}
	b, err := p.b.tasksOf()
	if err != nil {
		return nil, nil, err
	}
	other := map[step]*given{}
	for i := range trace[1] {
		other[trace[1][i].step] = &trace[1][i]
	}
	to := map[string][]int{}
	for _, c := range chainPairs(a, b) {
		to[c[0].name], _ = p.taskPairs(c[0], c[1])
	}
	for i := range trace[0] {
		g := &trace[0][i]
		k := to[g.step.procedure]
		if g.step.task >= len(k) || k[g.step.task] < 0 {
			continue
		}
		at := step{g.step.procedure, k[g.step.task], g.step.nth}
		if q := other[at]; q != nil && q.sum != g.sum {
			return g, q, nil
		}
	}
	return nil, nil, nil
}

// firstValue runs both sides again up to a task and compares what it gives.
func (p *pairing) firstValue(ctx context.Context, m [2]*sim.Machine, in map[string]interp.Tensor, x, y step, o Options) (string, []string, error) {
	var values [2][]uint16
	var shapes [2][5]int
	for i, want := range []step{x, y} {
		ctx, stop := context.WithCancelCause(ctx)
		n := 0
		run := sim.Options{Numerics: numerics.ANE, Workers: o.Workers, CallBytes: o.CallBytes}
		run.Results = func(where string, task int, extent [5]int, patterns []uint16) {
			if where != want.procedure || task != want.task {
				return
			}
			if n++; n == want.nth+1 {
				values[i], shapes[i] = append([]uint16(nil), patterns...), extent
				stop(errFound)
			}
		}
		m[i].Reset()
		_, err := m[i].Run(ctx, in, run)
		found := context.Cause(ctx) == errFound
		stop(nil)
		if err != nil && !found {
			return "", nil, err
		}
	}
	t := p.a.taskAt(x)
	text := fmt.Sprintf("first task that gives another value: task %d of %s", x.task, x.procedure)
	var names []string
	if t != nil {
		names = t.names
		if s, ok := strings.CutPrefix(t.subject, manyTasks); ok {
			text += ", of " + s
		}
	}
	if shapes[0] != shapes[1] {
		return text + fmt.Sprintf(": shape %v -> %v", shapes[0], shapes[1]), names, nil
	}
	n, first := 0, -1
	for i := range min(len(values[0]), len(values[1])) {
		if values[0][i] != values[1][i] {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if first >= 0 {
		f := func(v uint16) float32 { return float16.Frombits(v).Float32() }
		text += fmt.Sprintf(": %d of %d elements, first element %d %.6g -> %.6g", n, len(values[0]), first, f(values[0][first]), f(values[1][first]))
	}
	return text, names, nil
}

// taskAt returns the task of an execution, nil where it was not decoded.
func (s *Side) taskAt(at step) *task {
	for i := range s.chains {
		if c := &s.chains[i]; c.name == at.procedure && at.task < len(c.tasks) {
			return &c.tasks[at.task]
		}
	}
	return nil
}

// outputDetails compares the outputs that both sides have.
func outputDetails(ports []sim.Port, res [2]map[string]interp.Tensor) (out []string) {
	for _, port := range ports {
		a := res[0][port.Name]
		b, ok := res[1][port.Name]
		switch {
		case !ok:
			out = append(out, "output "+port.Name+": only A has it")
			continue
		case !a.Type.Equal(b.Type):
			out = append(out, "output "+port.Name+": "+a.Type.String()+" -> "+b.Type.String())
			continue
		case a.Type.DType == ir.String || a.Type.Kind != ir.Tensor:
			continue
		case string(a.Data) == string(b.Data):
			continue
		}
		ca, cb := &ir.Const{Type: a.Type, Data: a.Data}, &ir.Const{Type: b.Type, Data: b.Data}
		if n, _, worst := elementsThatDiffer(ca, cb); n > 0 {
			out = append(out, fmt.Sprintf("output %s: %d of %d elements, largest change %s%s -> %s", port.Name, n, ca.Elems(), at(a.Type.Shape, worst), number(ca, worst), number(cb, worst)))
		}
	}
	return out
}
