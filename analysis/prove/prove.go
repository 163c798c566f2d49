package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/exact"
)

// Function is what one function of a pair must compute.
type Function struct {
	Name string // in the descriptor
	// Program has a parameter for each input and each state. Its outputs are the pair's, followed by the contents of
	// the states after a call.
	Program *ir.Func
	States  []State
	// Source is the function before it was rewritten, with known shapes; nil if only the bytes are to be proved. Its
	// states are parameters of state type.
	Source *ir.Func
}

// State is a state of a function: a parameter of its program.
type State struct {
	Name   string
	Result int // index of its content after a call among the program's outputs; -1 if it is unchanged
}

// Options control a proof.
type Options struct {
	Seed    uint64 // of the elements and of the functions
	Workers int    // goroutines of one task, 0 for one per processor
	// Work bounds the elements that the samples of one statement compute, DefaultWork if it is 0.
	Work int64
	// Progress is called after each task, and after each statement of a program. It may be nil.
	Progress func(stage string, done, total int)
}

// DefaultWork is Options.Work if that is 0.
const DefaultWork = 1 << 26

// Errors of Result.Err and Result.Conclusion.
var (
	ErrWrong        = errors.New("the pair is wrong")
	ErrNotConcluded = errors.New("the proof is not concluded")
)

// Verdict is the outcome of a proof.
type Verdict string

// Verdicts.
const (
	Proved  Verdict = "proved"
	Wrong   Verdict = "wrong"
	Checked Verdict = "checked" // on samples; of statements of the source
	Open    Verdict = "open"    // it cannot conclude
)

// Result is the result of a proof.
type Result struct {
	Seed      uint64           `json:"seed"`      // seed of the random elements
	Verdict   Verdict          `json:"verdict"`   // on the bytes
	Functions []FunctionResult `json:"functions"` // results by function
}

// Err returns an error with the text of the result if the bytes are not proved.
func (r *Result) Err() error {
	if r.Verdict == Proved {
		return nil
	}
	var b strings.Builder
	r.Text(&b, TextOptions{})
	return fmt.Errorf("%w: %s", r.Conclusion(), strings.TrimSuffix(b.String(), "\n"))
}

// Conclusion returns nil if the bytes are proved and no statement of a source is open, and else ErrWrong or an error
// that wraps ErrNotConcluded.
func (r *Result) Conclusion() error {
	open, statements := 0, 0
	for _, f := range r.Functions {
		if f.Source != nil {
			open += f.Source.Open
			statements += f.Source.Proved + f.Source.Checked + f.Source.Open
		}
	}
	switch {
	case r.Verdict == Wrong:
		return ErrWrong
	case r.Verdict != Proved:
		return fmt.Errorf("%w: it is open whether the bytes compute the program", ErrNotConcluded)
	case !r.Concluded():
		return fmt.Errorf("%w: the bytes are proved, %d of %s of the source are open", ErrNotConcluded, open,
			diag.Count(statements, "statement", "statements"))
	}
	return nil
}

// Concluded reports whether the bytes are proved and no statement of a source is open.
func (r *Result) Concluded() bool {
	open := func(f FunctionResult) bool { return f.Source != nil && f.Source.Verdict == Open }
	return r.Verdict == Proved && !slices.ContainsFunc(r.Functions, open)
}

// FunctionResult is the result for one function.
type FunctionResult struct {
	Name    string   `json:"name"`    // name of the function
	Verdict Verdict  `json:"verdict"` // verdict on the bytes
	Outputs []Output `json:"outputs"` // comparisons of outputs and states
	Tasks   int      `json:"tasks"`   // tasks that ran
	// Reasons say why the proof is inconclusive, by statement.
	Reasons []string `json:"reasons,omitempty"`
	// First is the first statement on the engine whose value the tasks compute only in part. If there is none, it is
	// the first statement for which they compute neither an element nor anything that depends on it.
	First *Departure `json:"first,omitempty"`
	// Source is the comparison of the source with the placed program, if the source is known.
	Source *SourceResult `json:"source,omitempty"`
}

// Output is the comparison of one output, or of a state after the call.
type Output struct {
	Name     string `json:"name"`     // name of the output or state
	Type     string `json:"type"`     // type of the output or state
	Elements int    `json:"elements"` // elements that were compared
	Wrong    int    `json:"wrong"`    // elements that differ
	// Element is the first element that differs, Index its indices, and Where its position in memory.
	Element int        `json:"element,omitempty"`
	Index   []int64    `json:"index,omitempty"` // indices of the first element that differs
	Where   *sim.Where `json:"where,omitempty"` // place of the first element that differs, in memory
	// Missing is how many elements the pair has too few, negative for too many.
	Missing int `json:"missing,omitempty"`
}

// Pair proves that a pair computes the functions.
func Pair(ctx context.Context, m *sim.Machine, fs []Function, o Options) (*Result, error) {
	r := &Result{Seed: o.Seed, Verdict: Proved}
	for i := range fs {
		p := newProof(m, &fs[i], o)
		f, err := p.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", fs[i].Name, err)
		}
		if f.Verdict != Proved && r.Verdict != Wrong {
			r.Verdict = f.Verdict
		}
		r.Functions = append(r.Functions, *f)
	}
	return r, nil
}

// proof is the proof of one function.
type proof struct {
	m         *sim.Machine
	f         *Function
	o         Options
	fs        *field.Functions
	valuation *exact.Valuation
	progress  progress
	in        map[string]exact.Tensor // random elements for the parameters, once they were needed
	// program is what evaluates the program. A form stands for sums of products until one has not shown that all is
	// equal.
	program *exact.Evaluator
	outs    []exact.Tensor // of the program's last run
	source  *source        // what looks at the program's values; nil for nothing
}

func (p *proof) work() int64 {
	if p.o.Work > 0 {
		return p.o.Work
	}
	return DefaultWork
}

func newProof(m *sim.Machine, f *Function, o Options) *proof {
	p := &proof{m: m, f: f, o: o, fs: field.New(o.Seed), progress: progress{report: o.Progress}}
	programs := []*ir.Func{f.Program}
	if f.Source != nil {
		programs = append(programs, f.Source)
		p.source = newSource(p)
	}
	p.valuation = exact.NewValuation(p.fs, programs...)
	p.program = exact.NewEvaluator(p.fs, field.NewForm(p.fs), p.valuation)
	return p
}

// progress reports the progress of a stage. Several goroutines may be in it.
type progress struct {
	report func(stage string, done, total int)
	stage  string
	mu     sync.Mutex
	done   int
	total  int
}

// begin begins a stage of so many steps.
func (s *progress) begin(stage string, total int) { s.stage, s.done, s.total = stage, 0, total }

// next reports that one more step is done. There may be more than were expected.
func (s *progress) next() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	if s.report != nil {
		s.report(s.stage, s.done, max(s.done, s.total))
	}
}

// inputs returns random elements for the parameters.
func (p *proof) inputs() map[string]exact.Tensor {
	if p.in == nil {
		p.in = map[string]exact.Tensor{}
		for _, v := range p.f.Program.Body.Params {
			p.in[v.Name] = p.operand(v.Name, v.Type)
		}
	}
	return p.in
}

// operand returns random elements for a value.
func (p *proof) operand(name string, typ ir.Type) exact.Tensor {
	n := int64(1)
	if typ.Kind == ir.Tensor && typ.Static() {
		n = typ.Elems()
	}
	hash := p.fs.Hash
	if typ.DType == ir.Bool {
		hash = p.fs.Boolean
	}
	key, t := p.fs.Name("input "+name), exact.Tensor{Type: typ, Elems: make([]field.Elem, n)}
	for i := range t.Elems {
		t.Elems[i] = hash(key, field.Elem(i))
	}
	return t
}

// runProgram runs the program.
func (p *proof) runProgram(ctx context.Context) (err error) {
	var in []exact.Tensor
	for _, v := range p.f.Program.Body.Params {
		in = append(in, p.inputs()[v.Name])
	}
	p.program.Step = p.progress.next
	p.outs, err = p.program.Func(ctx, p.f.Program, in)
	return err
}

// bytes runs the pair. values is called with what each task computes; if it is nil, it is not recorded either which
// task wrote an element.
func (p *proof) bytes(ctx context.Context, tasks *int, values func(procedure string, task int,
	vals []field.Elem)) (outputs, states map[string]sim.ExactTensor, err error) {
	in := map[string]sim.ExactTensor{}
	for n, t := range p.inputs() {
		in[n] = sim.ExactTensor{Tensor: t}
	}
	o := sim.ExactOptions{Valuation: p.valuation}
	o.Engine.Field, o.Engine.Form = p.fs, p.program.Form
	o.Engine.Workers, o.Engine.Writers = p.o.Workers, values != nil
	o.Engine.Trace = func(engine.Event) {
		*tasks++
		p.progress.next()
	}
	if values != nil {
		o.Values = func(procedure string, task int, _ [5]int, vals []field.Elem) { values(procedure, task, vals) }
	}
	return p.m.RunExact(ctx, p.f.Name, in, o)
}

// run proves the function, first the bytes and then the placed program.
func (p *proof) run(ctx context.Context) (*FunctionResult, error) {
	r := &FunctionResult{Name: p.f.Name}
	n := int64(0)
	for _, v := range p.f.Program.Body.Params {
		n += max(v.Type.Elems(), 1) * 8
	}
	if err := memlimit.Room(n); err != nil {
		return nil, fmt.Errorf("the inputs: %w", err)
	}
	err := p.bytesAndProgram(ctx, r)
	if err == nil && p.source != nil {
		r.Source, err = p.statements(ctx)
	}
	return r, err
}

// statements compares the source with the values of the program.
func (p *proof) statements(ctx context.Context) (*SourceResult, error) {
	own := *p.program
	own.See, own.Unknown, own.Step, own.Whole = nil, nil, nil, true
	p.source.Evaluator, p.program.Unknown = &own, nil
	for assumed := 0; ; assumed++ {
		r, err := p.source.run(ctx, p.outs)
		for err == nil && r == nil { // values that were not kept or exact sums are needed
			if p.source.inexact {
				p.program.Form, own.Form, p.source.inexact = nil, nil, false
			} else {
				p.source.all = true
			}
			p.program.See = p.source.see
			p.progress.begin("proof: program", len(p.f.Program.Body.Ops))
			if err = p.runProgram(ctx); err == nil {
				r, err = p.source.run(ctx, p.outs)
			}
		}
		if err != nil || r.Open == 0 || assumed == maxAssumed || !p.source.assume(r) {
			return r, err
		}
	}
}

// maxAssumed bounds how often statements are compared again, each time with one more value assumed.
const maxAssumed = 32

// bytesAndProgram compares the bytes with the program. If an output differs, it runs again knowing what the tasks
// compute, since an operation can mean one of two things, and finds the first value that departs.
func (p *proof) bytesAndProgram(ctx context.Context, r *FunctionResult) error {
	var reasons []string
	p.program.Unknown = func(op *ir.Op) bool {
		if op.Place.Unit == ir.Engine {
			reasons = append(reasons, fmt.Sprintf("%s: its rule on the engine has no identity here", describe(op)))
		}
		return true
	}
	if p.source != nil {
		p.program.See = p.source.see
	}
	for {
		err := p.both(ctx, r)
		if err != nil || r.Verdict == Proved {
			return err
		}
		if !p.program.Form.Used() {
			break
		}
		p.program.Form = nil // equal sums can have different forms
	}
	p.progress.begin("proof: departures", p.m.Tasks()+len(p.f.Program.Body.Ops))
	tasks, computed := 0, newComputed(maxComputed)
	got, states, err := p.bytes(ctx, &tasks, computed.add)
	if err != nil {
		return err
	}
	p.program.Unknown = nil
	p.program.Computed = computed.has
	missing := map[*ir.Value]*Departure{}
	p.program.See = func(v *ir.Value, t exact.Tensor) bool {
		if v.Def.Place.Unit == ir.Engine {
			missing[v] = computed.departure(v, t)
		}
		return p.source != nil && p.source.see(v, t)
	}
	if err = p.runProgram(ctx); err == nil {
		err = p.compare(r, got, states)
	}
	if err != nil || r.Verdict == Proved {
		return err
	}
	r.First = first(p.f.Program, missing)
	if reasons = append(reasons, p.valuation.Unsupported()...); len(reasons) > 0 {
		r.Verdict = Open
		slices.Sort(reasons)
		r.Reasons = slices.Compact(reasons)
	}
	return nil
}

// both runs the bytes and, at the same time, the program, and compares them.
func (p *proof) both(ctx context.Context, r *FunctionResult) error {
	p.inputs()
	p.progress.begin("proof: tasks and program", p.m.Tasks()+len(p.f.Program.Body.Ops))
	ctx, cancel := context.WithCancelCause(ctx)
	var wg mapfault.Group // constants are in mapped files, which must stay open
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() {
		if err := p.runProgram(ctx); err != nil {
			cancel(err)
		}
	})
	r.Tasks = 0
	got, states, err := p.bytes(ctx, &r.Tasks, nil)
	if err != nil {
		cancel(err)
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return p.compare(r, got, states)
}

// compare compares all outputs with the outputs of the program.
func (p *proof) compare(r *FunctionResult, got, states map[string]sim.ExactTensor) error {
	r.Verdict, r.Outputs = Proved, nil
	after := map[int]string{}
	in := p.inputs()
	for _, s := range p.f.States {
		if after[s.Result] = s.Name; s.Result < 0 {
			t := states[s.Name]
			r.compare("state "+s.Name, &t, in[s.Name])
		}
	}
	for i, v := range p.f.Program.Body.Outputs {
		name, isState := after[i]
		t, ok := states[name]
		if !isState {
			name = v.Name
			t, ok = got[name]
		}
		if !ok {
			return fmt.Errorf("the pair has no output %q", name)
		}
		if isState {
			name = "state " + name
		}
		r.compare(name, &t, p.outs[i])
	}
	return nil
}

// compare adds the comparison of one output.
func (r *FunctionResult) compare(name string, got *sim.ExactTensor, want exact.Tensor) {
	o := Output{Name: name, Type: want.Type.String(), Elements: len(want.Elems)}
	for i, x := range want.Elems {
		if i < len(got.Elems) && got.Elems[i] == x {
			continue
		}
		if o.Wrong++; o.Wrong == 1 {
			o.Element, o.Index = i, indices(i, want.Type.Shape)
			if got.Where != nil && i < len(got.Elems) {
				w := got.Where(i)
				o.Where = &w
			}
		}
	}
	if o.Missing = len(want.Elems) - len(got.Elems); o.Missing != 0 {
		o.Wrong = max(o.Wrong, 1)
	}
	if o.Wrong > 0 {
		r.Verdict = Wrong
	}
	r.Outputs = append(r.Outputs, o)
}

// indices returns the indices of an element of a tensor, row major; nil if its extents are not known.
func indices(element int, shape []int64) []int64 {
	at := make([]int64, len(shape))
	rest := int64(element)
	for d := len(shape) - 1; d >= 0; d-- {
		if shape[d] <= 0 {
			return nil
		}
		at[d] = rest % shape[d]
		rest /= shape[d]
	}
	return at
}

// index writes the indices of an element.
func index(element int, shape []int64) string { return indexText(element, indices(element, shape)) }

// indexText writes indices, or the number of an element that has none.
func indexText(element int, at []int64) string {
	if len(at) == 0 {
		return strconv.Itoa(element)
	}
	return ir.ShapeString(at)
}

// describe returns a name for an operation in messages.
func describe(op *ir.Op) string {
	name := op.Name
	if len(op.Results) > 0 {
		name = op.Results[0].Name
	}
	return fmt.Sprintf("%s = %s", name, op.Def.Name)
}
