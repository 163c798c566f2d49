package lint

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// DefaultWork is the budget of a search for which none is set.
const DefaultWork = 20_000_000_000

// Interval is the range of a value.
type Interval = interval.Interval

// Options configure a run of the linter.
type Options struct {
	Compile compile.Options
	// Ranges are the ranges of inputs and states, by name; others have DefaultRange.
	Ranges map[string]Interval
	// Work bounds the search for inputs: multiply-accumulates and elements of all
	// runs together; 0 means DefaultWork, negative for no search.
	Work    int64
	Workers int
	// Progress is called before each run of the search, from one goroutine at a time; it may be nil.
	Progress func(stage string, done, total int)
	// Units overrides where operations run, by UnitKey: it has the placement for a target that zinc writes no programs
	// for.
	Units map[string]ir.Unit
	// Target is the name to report, "" for the name of Compile.Target.
	Target string
	// Source is the text that positions count in, nil for none.
	Source *diag.File
	// Samples are arrays of inputs by name, such as calibration data: those that have
	// their input's shape are run and recorded.
	Samples []map[string]interp.Tensor
}

func (o *Options) work() int64 {
	if o.Work == 0 {
		return DefaultWork
	}
	return o.Work
}

// table returns the target that is judged for.
func (o *Options) table() *target.Table {
	if t, err := target.Lookup(o.Target); err == nil {
		return t
	}
	return o.Compile.Target
}

// UnitKey identifies a statement across targets: by its place in the text, or else by its first result.
func UnitKey(op, result string, line, col int32) string {
	if line > 0 {
		return fmt.Sprintf("%s %d:%d", op, line, col)
	}
	return op + " " + result
}

// Report is what was found.
type Report struct {
	Target    string      `json:"target"`    // target that was judged for
	Functions []*Function `json:"functions"` // findings by function
}

// Function is what was found in one function.
type Function struct {
	Name   string       `json:"function"` // name of the function
	Inputs []InputRange `json:"inputs"`   // inputs, with the ranges that were assumed
	// States, with the ranges that were passed for them, or else the ranges of zeros and of all that the function
	// writes.
	States     []InputRange `json:"states,omitempty"`
	Statements int          `json:"statements"` // statements that were looked at
	// Unjudged counts the statements with an operand whose range is not bounded although no finding explains it, as of
	// a variable of a loop; whether they reach a limit is not known.
	Unjudged int `json:"unjudged"`
	// Unmodelled names the operations that have the range of their type.
	Unmodelled []string   `json:"unmodelled,omitempty"`
	Findings   []*Finding `json:"findings"` // in the order of the text
	// Groups rank the findings; Roots explain why statements are not judged.
	Groups []*Group `json:"groups"`
	// Values without bounds, which keep statements from being judged.
	Roots []*Root `json:"roots"`
}

// InputRange is an input or a state and its range.
type InputRange struct {
	Name  string           `json:"name"`  // name of the input
	Type  string           `json:"type"`  // type of the input
	Range [2]verify.Number `json:"range"` // least and greatest number
}

// States of a finding.
const (
	Shown      = "shown"       // by an input of the whole model
	ShownAlone = "shown alone" // by the statement cut out, on operands within its ranges
	Possible   = "possible"    // by intervals only
)

// States lists them, the most certain first.
var States = []string{Shown, ShownAlone, Possible}

// Finding is one hazard.
type Finding struct {
	Rule      string           `json:"rule"`             // rule that was broken (docs/lint.md)
	State     string           `json:"state"`            // how certain the finding is
	Op        string           `json:"op"`               // name of the operation
	Statement string           `json:"statement"`        // name of its first result
	Unit      string           `json:"unit"`             // where the operation runs: engine or cpu
	File      string           `json:"file,omitempty"`   // file of the statement
	Line      int32            `json:"line,omitempty"`   // line of the statement, from 1
	Col       int32            `json:"column,omitempty"` // column of the statement, from 1
	Source    string           `json:"source,omitempty"` // the line of the text
	Value     string           `json:"value"`            // whose interval Interval is
	Interval  [2]verify.Number `json:"interval"`         // least and greatest number that the value may have
	Limit     string           `json:"limit"`            // what the interval crosses
	Why       string           `json:"why"`              // what happens beyond the limit
	Detail    string           `json:"detail,omitempty"` // facts about this statement
	Instead   string           `json:"instead"`          // what to write instead
	// How states how the input was found, Reached the number with which it meets the limit.
	How     string         `json:"how,omitempty"`
	Reached *verify.Number `json:"reached,omitempty"` // number with which the input meets the limit
	// Evidence is an element of an output of the function, Local one of the statement alone.
	Evidence *witness.Evidence `json:"evidence,omitempty"`
	// Element of an output of the statement alone that shows the hazard.
	Local *witness.Evidence `json:"local,omitempty"`
	// Cut is the model in which a finding is shown alone.
	Cut  *witness.Cut `json:"alone,omitempty"`
	Note string       `json:"note,omitempty"` // why the finding is not shown by a run of the whole model
	// Behind reports that an earlier statement may already return infinity or NaN, and that this one is judged as if no
	// NaN resulted.
	Behind bool `json:"behind,omitempty"`
	// Taints counts the statements after this one that are judged as if its result were clipped to its limit.
	Taints int `json:"taints,omitempty"`
	// First is the statement whose finding is to be repaired first: this one is judged as if it were.
	First     string `json:"first,omitempty"`
	FirstLine int32  `json:"first_line,omitempty"` // line of that statement, from 1
	// Seen is the range of Value in recorded runs of the whole model, on drawn inputs and the arrays passed. Gap is the
	// factor by which those values would have to grow to meet the limit: 1 if they do, 0 if nothing was recorded.
	Seen *[2]verify.Number `json:"seen,omitempty"`
	// Factor by which recorded values would have to grow to meet the limit: 1 if they do, 0 if none were recorded.
	Gap verify.Number `json:"gap"`
	// Inputs are the values that show or reach the limit.
	Inputs tensors `json:"-"`
	// Files are the files of the inputs, by name.
	Files map[string]string `json:"inputs,omitempty"`

	op  *ir.Op
	typ string
}

// Run judges each function of p as the passes leave it, and builds the pair if inputs are searched for. p must not be
// used afterwards.
func Run(ctx context.Context, p *ir.Program, o Options) (*Report, error) {
	files := p.Files
	co := o.Compile
	var all []*judged
	var r compile.Result
	to := r.All()
	to.Placed = func(fs []*compile.Function) (err error) {
		all, err = judgeAll(fs, &o)
		if err == nil && !slices.ContainsFunc(all, func(j *judged) bool { return j.search }) {
			err = compile.ErrStop
		}
		return err
	}
	if err := compile.Compile(ctx, p, co, to); err != nil {
		return nil, err
	}
	rep := &Report{Target: cmp.Or(o.Target, co.Target.Name)}
	var m *sim.Machine
	if r.Built != nil {
		var err error
		if m, err = verify.Open(&r); err != nil {
			return nil, err
		}
	}
	for _, j := range all {
		fn, err := j.finish(ctx, m, files, &o)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", j.Name, verify.EngineFault(&r, files, err))
		}
		rep.Functions = append(rep.Functions, fn)
	}
	return rep, nil
}

// judgeAll judges each function in its default shapes.
func judgeAll(fs []*compile.Function, o *Options) (all []*judged, err error) {
	known := map[string]bool{}
	for _, f := range fs {
		if strings.Contains(f.Name, compile.VariantMark) {
			continue // another shape of the function before it
		}
		for _, v := range f.Reference.Body.Params {
			known[v.Name] = true
		}
		j, err := judgeOne(f, o)
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", f.Name, err)
		}
		all = append(all, j)
	}
	for n := range o.Ranges {
		if !known[n] {
			return nil, fmt.Errorf("unknown input %q in the ranges; want one of %s", n,
				strings.Join(sorted(known), ", "))
		}
	}
	return all, nil
}

func sorted(m map[string]bool) []string {
	ns := slices.Sorted(maps.Keys(m))
	return ns
}

// judged is a function whose ranges are known.
type judged struct {
	*compile.Function
	out      *Function
	sound, a *analysis // a assumes that no NaN results
	found    []*suspect
	ports    []*witness.Input
	search   bool // inputs are searched for
}

func judgeOne(f *compile.Function, o *Options) (*judged, error) {
	fn := f.Reference
	for _, op := range fn.Body.Ops {
		if u, ok := o.Units[UnitKey(op.Def.Name, name(op), op.Pos.Line, op.Pos.Col)]; ok {
			op.Place.Unit = u
		}
	}
	out := &Function{Name: f.Name, Findings: []*Finding{}}
	ranges := map[string]Interval{}
	var ports []*witness.Input
	for _, v := range fn.Body.Params {
		r, given := o.Ranges[v.Name]
		if v.Type.Kind == ir.State {
			if given {
				ranges[v.Name] = r
			}
			continue
		}
		if !given {
			r = witness.DefaultRange(v.Type)
		}
		r, err := interval.Inner(r, v.Type.DType)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", v.Name, err)
		}
		ranges[v.Name] = r
		out.Inputs = append(out.Inputs, InputRange{v.Name, v.Type.String(), witness.Numbers(r)})
		if v.Type.Elems() >= 0 {
			ports = append(ports, witness.NewInput(v, r))
		}
	}
	sound := analyse(fn, ranges)
	a := sound.calmly()
	for _, v := range fn.Body.Params {
		if v.Type.Kind == ir.State {
			out.States = append(out.States, InputRange{v.Name, v.Type.String(), witness.Numbers(a.Range(v))})
		}
	}
	found, unjudged := suspects(a)
	found = withoutScaled(found, f.Placed)
	found = slices.DeleteFunc(found, func(p *suspect) bool { return p.rule.on != nil && !p.rule.on(o.table()) })
	out.Statements, out.Unjudged = len(a.ops), unjudged
	seen := map[string]bool{}
	for _, op := range sound.ops {
		if sound.unmodelled[op] && !seen[op.Def.Name] {
			seen[op.Def.Name] = true
			out.Unmodelled = append(out.Unmodelled, op.Def.Name)
		}
	}
	return &judged{
		Function: f,
		out:      out,
		sound:    sound,
		a:        a,
		found:    found,
		ports:    ports,
		search:   len(found) > 0 && o.Work >= 0 && allStatic(fn),
	}, nil
}

// finish searches for inputs on a machine and returns the function with its findings.
func (j *judged) finish(ctx context.Context, m *sim.Machine, files []string, o *Options) (*Function, error) {
	var witnesses []*witness.Witness
	if j.search {
		var err error
		witnesses, err = witness.Search(ctx, witness.Subject{
			Analysis: j.a,
			Machine:  m,
			Name:     j.Name,
			Inputs:   j.ports,
		}, suspicions(j.found), witness.Options{
			Compile: o.Compile,
			Judge:   judge,
			Samples: o.Samples,
			Work:    o.work(),
			Workers: o.Workers,
			Progress: func(done, total int64) {
				if o.Progress != nil {
					o.Progress("search for inputs, millions of operations", int(done/1e6), int(total/1e6))
				}
			},
		})
		if err != nil {
			return nil, err
		}
	} else {
		for range j.found {
			witnesses = append(witnesses, &witness.Witness{Note: "no input was searched for", Seen: interval.Nothing})
		}
	}
	out, after := j.out, j.a.causes()
	taints := map[*ir.Op]int{}
	for _, op := range after {
		taints[op]++
	}
	for i, p := range j.found {
		x := p.finding(witnesses[i], files, o.Source)
		x.Behind = behind(j.sound, p.Op)
		if op := after[p.Op]; op != nil {
			x.First, x.FirstLine = label(op), op.Pos.Line
		}
		x.Taints = taints[p.Op]
		out.Findings = append(out.Findings, x)
	}
	slices.SortStableFunc(out.Findings, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	out.Roots = roots(j.a, files, out.Findings)
	out.group()
	return out, nil
}

// behind reports whether a computed operand may be infinite or NaN.
func behind(a *analysis, op *ir.Op) bool {
	hit := false
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		hit = hit || v.Const == nil && v.Type.Kind == ir.Tensor && v.Type.DType.IsFloat() && !a.Range(v).Finite()
	})
	return hit
}

// allStatic reports whether every input has a static shape.
func allStatic(f *ir.Func) bool {
	for _, v := range f.Body.Params {
		if v.Type.Kind == ir.Tensor && (!v.Type.Static() || v.Type.DType == ir.String) {
			return false
		}
	}
	return true
}

func (p *suspect) finding(w *witness.Witness, files []string, src *diag.File) *Finding {
	f := &Finding{
		Rule: p.rule.Name, State: Possible, Op: p.Op.Def.Name, Statement: label(p.Op), Unit: unitOf(p.Op),
		Value:    witness.ValueLabel(p.Value),
		Interval: [2]verify.Number{verify.Number(p.interval.Lo), verify.Number(p.interval.Hi)}, Limit: p.limit,
		Why: p.rule.Why, Detail: p.detail,
		Instead: p.instead, Note: w.Note, Gap: verify.Number(w.Growth), op: p.Op, typ: p.Op.Results[0].Type.String(),
	}
	if !w.Seen.Empty() && w.Growth > 0 {
		r := witness.Numbers(w.Seen)
		f.Seen = &r
	}
	f.Instead = cmp.Or(f.Instead, p.rule.Instead)
	if at := p.Op.Pos; at.IsValid() {
		f.Line, f.Col = at.Line, at.Col
		if int(at.File) < len(files) {
			f.File = files[at.File]
		}
		f.Source = lineOf(src, at.Line)
	}
	if w.Met || w.Shown != nil || w.Cut != nil {
		n := verify.Number(w.MetAt)
		f.Reached, f.How, f.Inputs = &n, w.Input.How, w.Input.Values
	}
	switch {
	case w.Shown != nil:
		f.State, f.Evidence, f.Local = Shown, w.Shown, w.Local
	case w.Cut != nil:
		f.State, f.Local, f.Cut = ShownAlone, w.Local, w.Cut
	}
	return f
}

// name returns the name of a statement: the name of its first result.
func name(op *ir.Op) string {
	if len(op.Results) == 0 {
		return op.Def.Name
	}
	return op.Results[0].Name
}

// label returns the name of a statement in the source: the name of its result, or of the operation if a pass generated
// the result.
func label(op *ir.Op) string {
	if n := name(op); !strings.HasPrefix(n, witness.Generated) || op.Name == "" {
		return n
	}
	return op.Name
}

// unitOf returns where an operation runs; operations in blocks run with the block, on the CPU.
func unitOf(op *ir.Op) string {
	if op.Place.Unit == ir.Unplaced {
		return ir.CPU.String()
	}
	return op.Place.Unit.String()
}

// maxSource bounds the part of a source line that a finding repeats.
const maxSource = 240

func lineOf(src *diag.File, line int32) string {
	if src == nil || line < 1 {
		return ""
	}
	rest := src.Src
	for range line - 1 {
		_, after, ok := strings.Cut(rest, "\n")
		if !ok {
			return ""
		}
		rest = after
	}
	l, _, _ := strings.Cut(rest, "\n")
	l = strings.TrimSpace(l)
	if len(l) > maxSource {
		l = l[:maxSource] + "..."
	}
	return strings.ToValidUTF8(l, "?")
}

type tensors = map[string]interp.Tensor
