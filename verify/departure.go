package verify

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Departures is what a step-by-step comparison found.
type Departures struct {
	Seed     uint64     `json:"seed"`
	Numerics string     `json:"numerics"`
	Tasks    int        `json:"tasks"`    // that ran up to the first departure, or in all
	Compared int        `json:"compared"` // values that tasks wrote and that were held against the interpreter's
	Unknown  int        `json:"unknown"`  // values that tasks wrote and that no statement of the source names
	First    *Departure `json:"first,omitempty"`
}

// Departure is the first value of an engine task that is not the interpreter's.
type Departure struct {
	Function  string `json:"function"`
	Procedure string `json:"procedure"`
	Task      int    `json:"task"` // index in the procedure's chain: the task that gave the element
	Rule      string `json:"rule"` // that made the task
	Op        string `json:"op"`
	Value     string `json:"value"` // that the statement gives
	Type      string `json:"type"`
	Line      int32  `json:"line,omitempty"`
	Col       int32  `json:"column,omitempty"`
	Place     string `json:"place,omitempty"` // file:line:col
	Element   int    `json:"element"`         // the first beyond the bound, row major
	Got       Number `json:"got"`
	Want      Number `json:"want"`
	Tolerance Number `json:"tolerance"`
	Beyond    int    `json:"beyond"`  // elements beyond the tolerance
	MaxAbs    Number `json:"max_abs"` // largest distance of two elements
}

// expected is what the interpreter says of one value.
type expected struct {
	op     *ir.Op
	want   interp.Tensor
	spread float64
	scale  float64
}

func (e *expected) limit() float64 {
	return SpreadFactor*e.spread + float64(numerics.ULP16(float32(e.scale)))
}

// FirstDeparture compiles p, which must not be used afterwards, and runs simulator
// and interpreter on the same inputs, a function at a time, one call each. Every
// value of the source that a task writes (to a port, to scratch or to L2) is
// held against the interpreter's as soon as it is whole; the tolerance is that of
// an output (docs/numerics.md). It stops at the first that departs.
func FirstDeparture(ctx context.Context, p *ir.Program, o Options) (*Departures, error) {
	files := &ir.Program{Files: p.Files}
	r, err := compile.Compile(ctx, p, o.Compile)
	if err != nil {
		return nil, err
	}
	container, descriptor, err := Pair(r)
	if err != nil {
		return nil, &FaultError{"writing the pair", err}
	}
	d, err := departures(ctx, r, container, descriptor, o)
	if err != nil {
		return d, EngineFault(r, files.Files, err)
	}
	if err == nil && d.First != nil {
		d.First.Place = files.PosString(ir.Pos{Line: d.First.Line, Col: d.First.Col})
	}
	return d, err
}

func departures(ctx context.Context, r *compile.Result, container, descriptor []byte, o Options) (*Departures, error) {
	m, err := sim.Load(container, descriptor)
	if err != nil {
		return nil, &FaultError{"loading the pair that was written", err}
	}
	d := &Departures{Seed: o.Seed, Numerics: o.Numerics.String()}
	for _, f := range r.Functions {
		if err := m.Select(f.Name); err != nil {
			return nil, &FaultError{"loading the pair that was written", err}
		}
		steps, err := inputs(f, o)
		if err != nil {
			return nil, err
		}
		want, err := expectations(ctx, f, steps[0], o)
		if err != nil {
			return nil, fmt.Errorf("reference run: %w", err)
		}
		if err := d.function(ctx, m, f, want, steps[0], o); err != nil || d.First != nil {
			return d, err
		}
	}
	return d, nil
}

// expectations runs the interpreter, and its perturbed runs, and keeps every fp16
// value of the source that a buffer of tasks holds.
func expectations(ctx context.Context, f *compile.Function, in map[string]interp.Tensor,
	o Options) (map[string]*expected, error) {
	held := map[string]bool{}
	for _, p := range f.Procedures {
		for i := range p.Held {
			held[p.Held[i].Value.Name] = true
		}
	}
	prog, err := interp.Prepare(f.Reference)
	if err != nil {
		return nil, err
	}
	want := map[string]*expected{}
	each := func(see func(op *ir.Op, i int, t interp.Tensor)) func(*ir.Op, []interp.Tensor) {
		return func(op *ir.Op, ts []interp.Tensor) {
			for i, v := range op.Results {
				if held[v.Name] && ts[i].Type.DType == ir.FP16 {
					see(op, i, ts[i])
				}
			}
		}
	}
	run := func(stage string, perturb *interp.Perturb, see func(op *ir.Op, i int, t interp.Tensor)) error {
		_, err := prog.Run(ctx, in, interp.Options{
			Numerics: numerics.IEEE, Workers: o.Workers, Progress: o.stage(stage), Perturb: perturb,
			States: map[string]interp.Tensor{}, Trace: each(see),
		})
		return err
	}
	err = run("reference run", nil, func(op *ir.Op, i int, t interp.Tensor) {
		e := &expected{op: op, want: t}
		for _, y := range t.Floats32() {
			if a := math.Abs(float64(y)); a <= math.MaxFloat64 {
				e.scale = max(e.scale, a)
			}
		}
		want[op.Results[i].Name] = e
	})
	if err != nil || f.Report.EngineOps == 0 {
		return want, err
	}
	bound := bounds(f.Report)
	for k := range uint64(Perturbations) {
		p := &interp.Perturb{Seed: o.Seed*Perturbations + k, Bound: bound}
		err := run(fmt.Sprintf("perturbed run %d of %d", k+1, Perturbations), p,
			func(op *ir.Op, i int, t interp.Tensor) {
				e := want[op.Results[i].Name]
				if e == nil || e.op != op {
					return
				}
				base := e.want.Floats32()
				for i, y := range t.Floats32() {
					if d := math.Abs(float64(y) - float64(base[i])); d <= math.MaxFloat64 {
						e.spread = max(e.spread, d)
					}
				}
			})
		if err != nil {
			return nil, err
		}
	}
	return want, nil
}

// cells are the elements written last at the places of a buffer, two bytes apart.
type cells struct {
	patterns []uint16
	tasks    []int32 // plus one; 0 where nothing was written
}

func (c *cells) put(at int64, pattern uint16, task int) {
	i := int(at / 2)
	if n := i + 1 - len(c.tasks); n > 0 {
		c.patterns = append(c.patterns, make([]uint16, n)...)
		c.tasks = append(c.tasks, make([]int32, n)...)
	}
	c.patterns[i], c.tasks[i] = pattern, int32(task)+1
}

// get returns the element at a place, and the task that wrote it.
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
	whole  map[int][]int // by task: the values whose buffer it is the last to write
	used   map[int]bool  // buffers that hold values
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

// write notes what a task gives.
func (w *watcher) write(task int, extent [5]int, patterns []uint16) {
	s := w.stores[task]
	if s == nil || !w.used[s.Buffer] {
		return // no value stands there
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

// function runs one function and looks for its first departure.
func (d *Departures) function(ctx context.Context, m *sim.Machine, f *compile.Function, want map[string]*expected,
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
			e := want[h.Value.Name]
			if e == nil || !e.want.Type.Equal(h.Value.Type) {
				d.Unknown++
				continue
			}
			d.Compared++
			first := w.compare(h, e)
			if first != nil && (d.First == nil || first.Task < d.First.Task) {
				first.Function, first.Procedure = f.Name, where
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
	m.Reset()
	_, err := m.Run(ctx, in, run)
	if d.First != nil {
		return nil // the run was ended for it
	}
	if err != nil {
		return fmt.Errorf("simulated run: %w", err)
	}
	return nil
}

// compare holds a value that is whole against the interpreter's; nil when they
// agree. The task is the one that gave the first element beyond the limit.
func (w *watcher) compare(h *lower.Held, e *expected) *Departure {
	from := w.buffer[h.Buffer]
	base := e.want.Floats32()
	limit := e.limit()
	var out *Departure
	far := 0.0
	h.Each(func(i int, at int64) {
		pattern, task, ok := from.get(at)
		if !ok || i >= len(base) {
			return // the buffer holds more than tasks wrote: padding that is zero from the start
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

// Text writes the result for people.
func (d *Departures) Text(w io.Writer) error {
	var err error
	if x := d.First; x == nil {
		_, err = fmt.Fprintf(w, "no departure: %d values of %d tasks are within their tolerance of the interpreter's\n",
			d.Compared, d.Tasks)
	} else {
		_, err = fmt.Fprintf(w, "task %d of procedure %s (rule %s) departs from the interpreter\n"+
			"statement: %s = %s, %s, at %s\nelement %d: simulator %g, interpreter %g, tolerance %.4g\n"+
			"%d elements are beyond it, the largest distance is %.4g; %d values before it agree\n",
			x.Task, x.Procedure, x.Rule, x.Value, x.Op, x.Type, x.Place, x.Element, float64(x.Got), float64(x.Want),
			float64(x.Tolerance),
			x.Beyond, float64(x.MaxAbs), d.Compared-1)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "seed %d, engine numerics %s; %d values that tasks wrote have no statement in the "+
			"source\n", d.Seed, d.Numerics, d.Unknown)
	}
	return err
}
