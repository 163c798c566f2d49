package verify

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Departures is the result of a task-by-task comparison.
type Departures struct {
	Seed     uint64     `json:"seed"`
	Numerics string     `json:"numerics"`
	Tasks    int        `json:"tasks"`    // tasks that ran, up to the first departure
	Compared int        `json:"compared"` // values written by tasks and compared with the interpreter's
	Unknown  int        `json:"unknown"`  // values written by tasks that no statement of the source names
	Parts    int        `json:"parts"`    // values written by tasks inside compositions of a statement
	Outputs  int        `json:"outputs"`  // outputs and states compared with the interpreter's
	First    *Departure `json:"first,omitempty"`
}

// Departure is the first value that differs from the interpreter's beyond the
// tolerance: one that an engine task wrote or, if all of those agree, an output of the
// function.
type Departure struct {
	Function  string `json:"function"`
	Procedure string `json:"procedure,omitempty"` // empty for an output
	// Task is the index, in the procedure's chain, of the task that wrote the element;
	// -1 for an output.
	Task      int    `json:"task"`
	Rule      string `json:"rule,omitempty"` // the lowering rule of the task
	Op        string `json:"op,omitempty"`
	Value     string `json:"value"`          // the result of the statement, or the name of the output
	Call      int    `json:"call,omitempty"` // for functions with states, counted from 1
	Type      string `json:"type"`
	Line      int32  `json:"line,omitempty"`
	Col       int32  `json:"column,omitempty"`
	Place     string `json:"place,omitempty"` // file:line:col
	Element   int    `json:"element"`         // the first beyond the tolerance, row major
	Got       Number `json:"got"`
	Want      Number `json:"want"`
	Tolerance Number `json:"tolerance"`
	Beyond    int    `json:"beyond"`  // number of elements beyond the tolerance
	MaxAbs    Number `json:"max_abs"` // largest difference of two elements
}

// expected is one value of the interpreter, with the spread of its perturbed runs.
type expected struct {
	op     *ir.Op
	want   interp.Tensor
	spread float64
	scale  float64
}

func (e *expected) limit() float64 {
	return SpreadFactor*e.spread + float64(numerics.ULP16(float32(e.scale)))
}

// FirstDeparture compiles p, which must not be used afterwards, and runs the simulator
// and the interpreter on the same inputs, with the same calls as Run. It compares every
// value of the source that a task writes (to a port, to scratch or to L2) as soon as
// the value is complete, and the outputs and states after each call, with the tolerance
// of an output (docs/numerics.md). It stops at the first departure.
func FirstDeparture(ctx context.Context, p *ir.Program, o Options) (*Departures, error) {
	files := &ir.Program{Files: p.Files}
	r, err := compile.Compile(ctx, p, o.Compile)
	if err != nil {
		return nil, err
	}
	m, err := Open(r)
	if err != nil {
		return nil, err
	}
	d, err := departures(ctx, r, m, o)
	if err != nil {
		return d, EngineFault(r, files.Files, err)
	}
	if err == nil && d.First != nil {
		d.First.Place = files.PosString(ir.Pos{Line: d.First.Line, Col: d.First.Col})
	}
	return d, err
}

func departures(ctx context.Context, r *compile.Result, m *sim.Machine, o Options) (*Departures, error) {
	d := &Departures{Seed: o.Seed, Numerics: o.Numerics.String()}
	for _, f := range r.Functions {
		if err := m.Select(f.Name); err != nil {
			return nil, &FaultError{"loading the pair that was written", err}
		}
		if err := d.function(ctx, m, f, o); err != nil || d.First != nil {
			return d, err
		}
	}
	return d, nil
}

// interpreters are the runs of the interpreter on one function: the first is the
// unperturbed source, the others are perturbed. Each keeps its own states from call to
// call.
type interpreters struct {
	prog *interp.Program
	// parts is the program to perturb: prog, or the program with its compositions. The latter also runs unperturbed,
	// with its states in still.
	parts  *interp.Program
	still  map[string]interp.Tensor
	held   map[string]bool // names of the values in the buffers of tasks
	states []map[string]interp.Tensor
	bound  func(op *ir.Op) numerics.Bound
	o      *Options
}

// expectations are the results of the interpreters for one call.
type expectations struct {
	values  map[string]*expected     // by name, every fp16 value of the source that is in a buffer of tasks
	results map[string]interp.Tensor // outputs, and states under names that begin with statePrefix
	limits  map[string]*tolerance
}

func newInterpreters(f *compile.Function, o *Options) (*interpreters, error) {
	x := &interpreters{held: map[string]bool{}, o: o, bound: bounds(f.Report)}
	for _, p := range f.Procedures {
		for i := range p.Held {
			x.held[p.Held[i].Value.Name] = true
		}
	}
	n := 1
	if f.Report.EngineOps > 0 {
		n += Perturbations
	}
	for range n {
		x.states = append(x.states, map[string]interp.Tensor{})
	}
	var err error
	if x.prog, err = interp.Prepare(f.Reference); err != nil {
		return nil, err
	}
	x.parts = x.prog
	if f.Parts != nil {
		x.still = map[string]interp.Tensor{}
		x.parts, err = interp.Prepare(f.Parts)
	}
	return x, err
}

// call runs the interpreters on the inputs of one call. Calls are numbered from 0.
func (x *interpreters) call(ctx context.Context, number int, in map[string]interp.Tensor) (*expectations, error) {
	want := &expectations{values: map[string]*expected{}, limits: map[string]*tolerance{}}
	still := map[string]*expected{} // by name, the values that perturbed runs are compared with
	y, err := x.run(ctx, x.prog, x.states[0], in, interp.Options{Progress: x.o.stage("reference run")},
		func(op *ir.Op, i int, t interp.Tensor) {
			e := &expected{op: op, want: t}
			for _, y := range t.Floats32() {
				if a := math.Abs(float64(y)); a <= math.MaxFloat64 {
					e.scale = max(e.scale, a)
				}
			}
			want.values[op.Results[i].Name], still[op.Results[i].Name] = e, e
		})
	if err != nil {
		return nil, err
	}
	want.results = y
	for n, t := range y {
		want.limits[n] = newTolerance(t)
	}
	z := y
	if x.parts != x.prog {
		clear(still)
		z, err = x.run(ctx, x.parts, x.still, in, interp.Options{Progress: x.o.stage("run of compositions")},
			func(op *ir.Op, i int, t interp.Tensor) { still[op.Results[i].Name] = &expected{op: op, want: t} })
		if err != nil {
			return nil, err
		}
	}
	for k := 1; k < len(x.states); k++ {
		opt := interp.Options{
			Progress: x.o.stage(fmt.Sprintf("perturbed run %d of %d", k, Perturbations)),
			Perturb: &interp.Perturb{
				Seed:  x.o.Seed*Perturbations + uint64(k-1) + uint64(number)<<32,
				Bound: x.bound,
			},
		}
		y, err := x.run(ctx, x.parts, x.states[k], in, opt, func(op *ir.Op, i int, t interp.Tensor) {
			e, from := want.values[op.Results[i].Name], still[op.Results[i].Name]
			if e == nil || from == nil || from.op != op {
				return
			}
			base := from.want.Floats32()
			for i, y := range t.Floats32() {
				if d := math.Abs(float64(y) - float64(base[i])); d <= math.MaxFloat64 {
					e.spread = max(e.spread, d)
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for n, t := range y {
			want.limits[n].add(z[n], t)
		}
	}
	return want, nil
}

// run runs one of the interpreters and calls see for every fp16 value in x.held.
func (x *interpreters) run(ctx context.Context, prog *interp.Program, states, in map[string]interp.Tensor,
	opt interp.Options, see func(op *ir.Op, i int, t interp.Tensor)) (map[string]interp.Tensor, error) {
	opt.Numerics, opt.Workers, opt.States = numerics.IEEE, x.o.Workers, states
	opt.Trace = func(op *ir.Op, ts []interp.Tensor) {
		for i, v := range op.Results {
			if x.held[v.Name] && ts[i].Type.DType == ir.FP16 {
				see(op, i, ts[i])
			}
		}
	}
	y, err := prog.Run(ctx, in, opt)
	if err != nil {
		return nil, fmt.Errorf("reference run: %w", err)
	}
	for n, t := range opt.States {
		y[statePrefix+n] = t
	}
	return y, nil
}

// cells are the elements last written to a buffer, one for every two bytes.
type cells struct {
	patterns []uint16
	tasks    []int32 // index of the task plus one; 0 where nothing was written
}

func (c *cells) put(at int64, pattern uint16, task int) {
	i := int(at / 2)
	if n := i + 1 - len(c.tasks); n > 0 {
		c.patterns = append(c.patterns, make([]uint16, n)...)
		c.tasks = append(c.tasks, make([]int32, n)...)
	}
	c.patterns[i], c.tasks[i] = pattern, int32(task)+1
}

// get returns the element at a byte offset, and the task that wrote it.
func (c *cells) get(at int64) (pattern uint16, task int, ok bool) {
	i := int(at / 2)
	if c == nil || i >= len(c.tasks) || c.tasks[i] == 0 {
		return 0, 0, false
	}
	return c.patterns[i], int(c.tasks[i]) - 1, true
}

// watcher follows the tasks of one procedure.
type watcher struct {
	p      *lower.Procedure
	stores map[int]*lower.Store // by task
	buffer map[int]*cells
	whole  map[int][]int // by task, the values that are complete once it has run, as indices of p.Held
	used   map[int]bool  // buffers that contain values
}

func watch(p *lower.Procedure) *watcher {
	w := &watcher{
		p:      p,
		stores: map[int]*lower.Store{},
		buffer: map[int]*cells{},
		whole:  map[int][]int{},
		used:   map[int]bool{},
	}
	last := map[int]int{}
	for i := range p.Stores {
		s := &p.Stores[i]
		w.stores[s.Task] = s
		last[s.Buffer] = s.Task
	}
	for i := range p.Held {
		b := p.Held[i].Buffer
		w.whole[last[b]] = append(w.whole[last[b]], i)
		w.used[b] = true
	}
	return w
}

// write records the result of a task.
func (w *watcher) write(task int, extent [5]int, patterns []uint16) {
	s := w.stores[task]
	if s == nil || !w.used[s.Buffer] {
		return
	}
	to := w.buffer[s.Buffer]
	if to == nil {
		to = &cells{}
		w.buffer[s.Buffer] = to
	}
	i := 0
	for g := range extent[0] {
		for d := range extent[1] {
			for c := range extent[2] {
				for h := range extent[3] {
					for x := range extent[4] {
						to.put(s.At(g, d, c, h, x), patterns[i], task)
						i++
					}
				}
			}
		}
	}
}

// function runs one function, call by call, and sets d.First at the first departure.
func (d *Departures) function(ctx context.Context, m *sim.Machine, f *compile.Function, o Options) error {
	steps, err := inputs(f, o)
	if err != nil {
		return err
	}
	x, err := newInterpreters(f, &o)
	if err != nil {
		return fmt.Errorf("reference run: %w", err)
	}
	m.Reset()
	for i, in := range steps {
		want, err := x.call(ctx, i, in)
		if err != nil {
			return err
		}
		if err := d.call(ctx, m, f, want, in, o); err != nil {
			return err
		}
		if d.First != nil {
			d.First.Function = f.Name
			if len(steps) > 1 {
				d.First.Call = i + 1
			}
			return nil
		}
	}
	return nil
}

// call runs one call and sets d.First at the first departure.
func (d *Departures) call(ctx context.Context, m *sim.Machine, f *compile.Function, want *expectations,
	in map[string]interp.Tensor, o Options) error {
	watchers := map[string]*watcher{}
	for _, p := range f.Procedures {
		watchers[p.Name] = watch(p)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	run := sim.Options{Numerics: o.Numerics, Workers: o.Workers}
	run.Results = func(where string, task int, extent [5]int, patterns []uint16) {
		d.Tasks++
		if o.Progress != nil {
			o.Progress("simulated run", d.Tasks, max(d.Tasks, f.Report.Tasks))
		}
		w := watchers[where]
		if w == nil || d.First != nil {
			return
		}
		w.write(task, extent, patterns)
		for _, i := range w.whole[task] {
			h := &w.p.Held[i]
			e := want.values[h.Value.Name]
			if e == nil && passes.Composed(h.Value.Def) {
				d.Parts++
				continue
			}
			if e == nil || !e.want.Type.Equal(h.Value.Type) {
				d.Unknown++
				continue
			}
			d.Compared++
			first := w.compare(h, e, task)
			if first != nil && (d.First == nil || first.Task < d.First.Task) {
				first.Procedure = where
				d.First = first
			}
		}
		if len(w.whole[task]) > 0 {
			delete(w.buffer, w.stores[task].Buffer)
		}
		if d.First != nil {
			stop()
		}
	}
	got, err := m.Run(ctx, in, run)
	if d.First != nil {
		return nil // err is the cancellation at the departure
	}
	if err != nil {
		return fmt.Errorf("simulated run: %w", err)
	}
	return d.outputs(m, f, want, got)
}

// outputs compares the outputs and states after a call with the interpreter's: a value
// can be right where a task wrote it and then be moved wrongly, or be computed on the
// CPU from a part that no statement names.
func (d *Departures) outputs(m *sim.Machine, f *compile.Function, want *expectations,
	got map[string]interp.Tensor) error {
	defs := map[string]*ir.Op{}
	var names []string
	for _, v := range f.Reference.Body.Outputs {
		names, defs[v.Name] = append(names, v.Name), v.Def
	}
	for _, n := range f.States {
		t, err := m.State(n)
		if err != nil {
			return &FaultError{"simulated run", err}
		}
		got[statePrefix+n] = t
		names = append(names, statePrefix+n)
	}
	for _, n := range names {
		g, ok := got[n]
		if !ok {
			return &FaultError{"simulated run", fmt.Errorf("the pair is missing output %q", n)}
		}
		c, err := compare(n, g, want.results[n], want.limits[n])
		if err != nil {
			return &FaultError{"comparison", err}
		}
		d.Outputs++
		if c.Pass {
			continue
		}
		d.First = &Departure{Task: -1, Value: n, Type: c.Type, MaxAbs: c.MaxAbs}
		if op := defs[n]; op != nil {
			d.First.Op, d.First.Line, d.First.Col = op.Def.Name, op.Pos.Line, op.Pos.Col
		}
		limit, base := want.limits[n].limits(g.Type.DType), want.limits[n].base
		for i, y := range values(g) {
			if distance(y, base[i]) <= limit(i) {
				continue
			}
			if d.First.Beyond++; d.First.Beyond == 1 {
				d.First.Element, d.First.Got, d.First.Want = i, Number(y), Number(base[i])
				d.First.Tolerance = Number(limit(i))
			}
		}
		return nil
	}
	return nil
}

// compare compares a complete value with the interpreter's and returns nil if they
// agree. The departure's task is the one that wrote the first element beyond the limit
// or, if no task wrote that element, the last task that wrote to the buffer.
func (w *watcher) compare(h *lower.Held, e *expected, last int) *Departure {
	from := w.buffer[h.Buffer]
	base := e.want.Floats32()
	limit := e.limit()
	var out *Departure
	far := 0.0
	h.Each(func(i int, at int64) {
		pattern, task, ok := from.get(at)
		if i >= len(base) {
			return
		}
		if !ok {
			task = last // memory is initially zero, as padding should be
		}
		got := float64(float16.Frombits(pattern).Float32())
		dist := distance(got, float64(base[i]))
		far = max(far, dist)
		if dist <= limit {
			return
		}
		if out == nil {
			v := h.Value
			pos := e.op.Pos
			out = &Departure{
				Task: task, Rule: w.p.Infos[task].Rule, Op: e.op.Def.Name, Value: v.Name, Type: v.Type.String(),
				Line: pos.Line, Col: pos.Col, Element: i, Got: Number(got), Want: Number(base[i]),
				Tolerance: Number(limit),
			}
		}
		out.Beyond++
	})
	if out != nil {
		out.MaxAbs = Number(far)
	}
	return out
}

// call returns the call in which the value departs, for messages; it is empty for
// functions without states.
func (x *Departure) call() string {
	if x.Call == 0 {
		return ""
	}
	return fmt.Sprintf(" in call %d", x.Call)
}

// Text writes the result as text.
func (d *Departures) Text(w io.Writer) error {
	var err error
	x := d.First
	switch {
	case x == nil:
		_, err = fmt.Fprintf(w, "no departure: %d values of %d tasks and %s are within their tolerance "+
			"of the interpreter's\n", d.Compared, d.Tasks, diag.Count(d.Outputs, "output", "outputs"))
	case x.Task < 0:
		_, err = fmt.Fprintf(w, "output %s of function %s departs from the interpreter%s; "+
			"%d values that its tasks wrote agree\n", x.Value, x.Function, x.call(), d.Compared)
	default:
		_, err = fmt.Fprintf(w, "task %d of procedure %s (rule %s) departs from the interpreter%s; "+
			"%d values before it agree\n",
			x.Task, x.Procedure, x.Rule, x.call(), d.Compared-1)
	}
	if err == nil && x != nil {
		if x.Op == "" {
			_, err = fmt.Fprintf(w, "%s is %s\n", x.Value, x.Type)
		} else {
			_, err = fmt.Fprintf(w, "statement: %s = %s, %s, at %s\n", x.Value, x.Op, x.Type, x.Place)
		}
	}
	if err == nil && x != nil {
		_, err = fmt.Fprintf(w, "element %d: simulator %g, interpreter %g, tolerance %.4g\n"+
			"%d elements exceed the tolerance, the largest difference is %.4g\n",
			x.Element, float64(x.Got), float64(x.Want), float64(x.Tolerance), x.Beyond, float64(x.MaxAbs))
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "seed %d, engine numerics %s; %d values that tasks wrote have no statement in the "+
			"source, %d are inside compositions\n", d.Seed, d.Numerics, d.Unknown, d.Parts)
	}
	return err
}
