package compare

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// step is one execution of a task.
type step struct {
	procedure string
	task      int
	nth       int // number of earlier runs of the task
}

// given is the result of a task in one execution.
type given struct {
	step step
	sum  uint64 // over extent and patterns
}

// errFound ends a run that has found what it searched for.
var errFound = errors.New("found")

// outputs runs the functions of both sides once on the same inputs, and compares the outputs and the results of paired
// tasks.
func (p *pairing) outputs(ctx context.Context, o Options) (out []*Change, err error) {
	if bytes.Equal(p.a.pair.Container, p.b.pair.Container) && bytes.Equal(p.a.pair.Descriptor, p.b.pair.Descriptor) {
		return nil, nil // equal bytes give equal outputs
	}
	var m [2]*sim.Machine
	for i, s := range []*Side{p.a, p.b} {
		if m[i], err = sim.Open(s.pair); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	to, _ := match(m[0].Functions(), m[1].Functions())
	for i, f := range m[0].Functions() {
		if to[i] < 0 {
			continue // reported at level Chain
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
		return newChange(Outputs, Changed, "outputs of "+fn, nil, "not run: "+why), nil
	}
	first := &departure{partner: p.partners(), at: -1}
	var res [2]map[string]interp.Tensor
	for i, s := range []*Side{p.a, p.b} {
		ran := map[step]int{}
		done, total := 0, s.statedTasks()
		if i == 1 && len(first.given) > 0 {
			total = len(first.given)
		}
		run := sim.Options{Numerics: numerics.ANE, Workers: o.Workers, CallBytes: o.CallBytes}
		run.Results = func(where string, task int, extent [5]int, patterns []uint16) {
			if done++; o.Progress != nil {
				o.Progress("run of side "+"AB"[i:i+1]+", tasks", done, max(done, total))
			}
			k := step{where, task, 0}
			k.nth = ran[k]
			ran[step{where, task, 0}]++
			if i == 0 {
				first.gave(k, sum(extent, patterns))
			} else {
				first.hold(k, extent, patterns)
			}
		}
		m[i].Reset()
		if res[i], err = m[i].Run(ctx, in, run); err != nil {
			return nil, fmt.Errorf("side %s: %w", "AB"[i:i+1], err)
		}
	}
	var d []string
	names := []string(nil)
	if first.at >= 0 {
		text, from, err := p.firstValue(ctx, m[0], in, first, o)
		if err != nil {
			return nil, err
		}
		d, names = append(d, text), from
	}
	d = append(d, outputDetails(m[0].Outputs(), res)...)
	if len(d) == 0 {
		return nil, nil
	}
	return newChange(Outputs, Changed, "outputs of "+fn, names, d...), nil
}

// sharedInputs returns inputs that both sides accept, or the reason why there are none.
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

// partner is the procedure of A paired with one of B, and for each task of B the task of A, or -1.
type partner struct {
	procedure string
	tasks     []int
}

// departure finds the first execution of a paired task, in the order of side A, whose result differs on side B.
type departure struct {
	partner map[string]partner // of each procedure of B
	given   []given            // by side A, in order
	index   map[step]int       // in given
	at      int                // the first in given with another result on B, or -1
	onB     step               // its execution on side B
	extent  [5]int             // of B's result
	values  []uint16
}

// gave records a result of side A.
func (d *departure) gave(k step, sum uint64) {
	if d.partner == nil {
		return
	}
	if d.index == nil {
		d.index = map[step]int{}
	}
	d.index[k] = len(d.given)
	d.given = append(d.given, given{k, sum})
}

// hold compares a result of side B with A's.
func (d *departure) hold(k step, extent [5]int, patterns []uint16) {
	to := d.partner[k.procedure]
	if k.task >= len(to.tasks) || to.tasks[k.task] < 0 {
		return
	}
	onB := k
	k.procedure, k.task = to.procedure, to.tasks[k.task]
	i, ok := d.index[k]
	if !ok || d.at >= 0 && i >= d.at || d.given[i].sum == sum(extent, patterns) {
		return
	}
	d.at, d.onB, d.extent, d.values = i, onB, extent, append(d.values[:0], patterns...)
}

// partners pairs the tasks of B with the tasks of A; it returns nil if the fields are unknown.
func (p *pairing) partners() map[string]partner {
	if p.missing(decodable) != "" {
		return nil
	}
	a, _ := p.a.tasksOf() // decodable has reported errors
	b, _ := p.b.tasksOf()
	out := map[string]partner{}
	for _, c := range p.chainPairs(a, b) {
		_, from := p.taskPairs(c[0], c[1])
		out[c[1].name] = partner{c[0].name, from}
	}
	return out
}

// statedTasks counts the tasks of all procedures.
func (s *Side) statedTasks() (n int) {
	for _, p := range s.file.Procedures() {
		n += int(p.Tasks)
	}
	return n
}

// firstValue runs side A again up to the first task that differs and compares its result with B's.
func (p *pairing) firstValue(ctx context.Context, m *sim.Machine, in map[string]interp.Tensor, first *departure,
	o Options) (string, []string, error) {
	x := first.given[first.at].step
	var values []uint16
	var extent [5]int
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	n, done := 0, 0
	m.Reset()
	_, err := m.Run(run, in, sim.Options{Numerics: numerics.ANE, Workers: o.Workers, CallBytes: o.CallBytes,
		Results: func(where string, task int, e [5]int, patterns []uint16) {
			if done++; o.Progress != nil && done <= first.at+1 {
				o.Progress("run of side A to the task that differs", done, first.at+1)
			}
			if where != x.procedure || task != x.task {
				return
			}
			if n++; n == x.nth+1 {
				values, extent = append([]uint16(nil), patterns...), e
				stop(errFound)
			}
		}})
	if err != nil && context.Cause(run) != errFound {
		return "", nil, err
	}
	text := fmt.Sprintf("first task with another result: task %d of %s", x.task, x.procedure)
	var names []string
	of := ""
	for _, t := range []*task{p.a.taskAt(x), p.b.taskAt(first.onB)} {
		if t == nil {
			continue
		}
		names = merged(names, t.names)
		if s, ok := strings.CutPrefix(t.subject, manyTasks); of == "" && ok {
			of = s
		} else if of == "" {
			of = t.of
		}
	}
	if of != "" {
		text += ", of " + of
	}
	if extent != first.extent {
		return text + fmt.Sprintf(": groups, depth, channels, rows and columns %v -> %v", extent, first.extent), names,
			nil
	}
	differ, at := 0, -1
	for i := range min(len(values), len(first.values)) {
		if values[i] != first.values[i] {
			if differ++; at < 0 {
				at = i
			}
		}
	}
	if at >= 0 {
		f := func(v uint16) float32 { return float16.Frombits(v).Float32() }
		text += fmt.Sprintf(": %d of %d elements, the first %s: %.6g -> %.6g", differ, len(values), element(extent, at),
			f(values[at]), f(first.values[at]))
	}
	return text, names, nil
}

// element returns the index of an element of a task's result, without extents of one.
func element(extent [5]int, i int) string {
	var parts []string
	for k := len(extent) - 1; k >= 0; k-- {
		if n := extent[k]; n > 1 {
			parts = append(parts, fmt.Sprintf("%s %d", [...]string{"group", "depth", "channel", "row", "column"}[k],
				i%n))
			i /= n
		}
	}
	if len(parts) == 0 {
		return "is the only one"
	}
	slices.Reverse(parts)
	return "at " + strings.Join(parts, ", ")
}

// taskAt returns the task of an execution, or nil if it was not decoded.
func (s *Side) taskAt(at step) *task {
	for i := range s.chains {
		if c := &s.chains[i]; c.name == at.procedure && at.task < len(c.tasks) {
			return &c.tasks[at.task]
		}
	}
	return nil
}

// outputDetails compares the outputs of the two sides.
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
			text := fmt.Sprintf("output %s: %d of %d elements, largest change %s%s -> %s", port.Name, n, ca.Elems(),
				at(a.Type.Shape, worst), number(ca, worst), number(cb, worst))
			if far, most := math.Abs(ca.Float(worst)-cb.Float(worst)), magnitude(ca); most > 0 && !math.IsNaN(far) &&
				a.Type.DType.IsFloat() {
				text += fmt.Sprintf(", %.3g of the largest magnitude", far/most)
			}
			out = append(out, text)
		}
	}
	return out
}

// magnitude returns the largest finite magnitude.
func magnitude(c *ir.Const) (most float64) {
	for i := range c.Elems() {
		if v := math.Abs(c.Float(i)); v > most && !math.IsInf(v, 0) {
			most = v
		}
	}
	return most
}
