package compress

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// Options say what to try.
type Options struct {
	Compile compile.Options // for estimates; Func is the function that is measured
	Inputs  map[string]interp.Tensor
	Seed    uint64  // of the inputs that Inputs leaves out
	Forms   []*Form // nil for all that the program can have
	Ends    bool    // also compress the first and the last layer
	// Each measures the outputs with each weight alone in each form, whatever that takes; otherwise that is done for
	// programs that it takes few multiply-accumulates for.
	Each   bool
	Metric Metric
	Limit  float64 // of the error of a mixture by the metric, 0 for no mixture

	Progress func(stage string, done, total int)
}

// Result is what a study found.
type Result struct {
	Function  string   `json:"function"`         // that was measured
	Target    string   `json:"target"`           // of the estimates
	Opset     string   `json:"opset"`            // of the compressed model
	Reference string   `json:"reference"`        // arithmetic of the reference: fp32, or as the model declares
	Seed      uint64   `json:"seed"`             // of random inputs
	Rows      []Row    `json:"forms"`            // the model as it is, with all weights in each form, and the mixture
	Weights   []Weight `json:"weights"`          // in the order in which the program reads them
	Already   int      `json:"already"`          // constants that the model stores compressed, which stay as they are
	Metric    Metric   `json:"metric,omitempty"` // that limits the mixture: psnr, cosine or ulp
	Limit     float64  `json:"limit,omitempty"`  // of the mixture's error by the metric

	p       *ir.Program
	weights []*weight
	choices map[string]choice // by the form of the row
}

// Row is the model with its weights in one form.
type Row struct {
	Form      string    `json:"form"`                // as it is, the name of a form, or mixture
	Weights   int       `json:"weights"`             // that are in a form other than the model's
	Bytes     int64     `json:"constant_bytes"`      // of all constants of the model
	Container int64     `json:"weight_bytes"`        // of the constants that the pair has for the engine
	Streams   int       `json:"streams"`             // weights that the engine reads as they are stored
	Folds     int       `json:"folds"`               // weights that it reads as fp16
	Why       string    `json:"why,omitempty"`       // why the first of those folds
	Time      cost.Time `json:"call_us"`             // estimated time of a call, 0 without an estimate
	Targets   []string  `json:"targets,omitempty"`   // whose hardware reads the form as it is stored
	Error     *Error    `json:"error"`               // of the outputs
	Runs      int       `json:"mixtures,omitempty"`  // mixtures that were measured to find this one
	Predicted bool      `json:"predicted,omitempty"` // the weights' errors were predicted, not measured
}

// The forms of rows that are no Form.
const (
	AsItIs  = "as it is"
	Mixture = "mixture"
)

// Weight is a weight in each form.
type Weight struct {
	Name  string       `json:"name"`              // of the constant
	Line  int32        `json:"line,omitempty"`    // of the first operation that reads it, from 1
	Op    string       `json:"op"`                // that operation
	Type  string       `json:"type"`              // of the constant
	Bytes int64        `json:"bytes"`             // in the model as it is
	Time  cost.Time    `json:"us"`                // estimated time of the operations that read it
	Kept  string       `json:"kept,omitempty"`    // why it stays as it is
	Forms []WeightForm `json:"forms"`             // in the order of the rows
	In    string       `json:"mixture,omitempty"` // form in the mixture, or as it is
}

// WeightForm is a weight in one form.
type WeightForm struct {
	Form    string    `json:"form"`              // name of the form
	Bytes   int64     `json:"bytes"`             // in the model
	Ratio   Decibels  `json:"snr"`               // of its values, in dB
	Streams bool      `json:"streams"`           // the engine reads it as it is stored
	Why     string    `json:"why,omitempty"`     // why the engine reads it in this form
	Saves   cost.Time `json:"saves_us"`          // less estimated time of the operations that read it
	Error   *Error    `json:"outputs,omitempty"` // of the outputs, if nothing else is compressed
}

// eachMACs bounds the multiply-accumulates that measuring each weight in each form takes without Options.Each: seconds.
const eachMACs = 20e9

// fewWeights is the number of weights from which on the first and the last layer stay dense.
const fewWeights = 4

// study is the state of a study.
type study struct {
	Result
	ctx      context.Context
	o        Options
	f        *ir.Func
	inputs   map[string]interp.Tensor
	want     map[string]interp.Tensor // of the reference
	times    map[ir.Pos]cost.Time     // of operations, with all weights as they are
	sharing  map[ir.Pos]int           // weights of an operation
	constant int64                    // bytes of all constants
	done     int
	total    int
}

// New studies a program, which it does not change.
func New(ctx context.Context, p *ir.Program, o Options) (*Result, error) {
	f, err := p.Entry(o.Compile.Func)
	if err != nil {
		return nil, err
	}
	o.Compile.Func = f.Name
	s := &study{ctx: ctx, o: o, f: f, times: map[ir.Pos]cost.Time{}, sharing: map[ir.Pos]int{}}
	s.p, s.weights, s.choices = p, weights(p), map[string]choice{}
	s.Function, s.Target, s.Seed, s.constant = f.Name, o.Compile.Target.Name, o.Seed, ir.ConstantBytes(p)
	since := firstOpset
	for _, g := range o.Forms {
		if blocks(g.Since) {
			since = g.Since
		}
	}
	if s.Opset, err = opset(p, since); err != nil {
		return nil, err
	}
	if s.o.Forms == nil {
		s.o.Forms = slices.DeleteFunc(slices.Clone(Forms), func(g *Form) bool {
			return blocks(g.Since) && !blocks(s.Opset)
		})
	}
	if len(s.weights) == 0 {
		return nil, fmt.Errorf("%sthe model has no dense weights of %d elements or more; there is nothing to compress",
			at(p, f.Pos), MinElements)
	}
	s.keep()
	s.total = 3 + 3*len(s.o.Forms)
	if err := s.reference(); err != nil {
		return nil, err
	}
	if err := s.row(AsItIs, choice{}); err != nil {
		return nil, err
	}
	for _, g := range s.o.Forms {
		if err := s.form(g); err != nil {
			return nil, err
		}
	}
	if err := s.each(); err != nil {
		return nil, err
	}
	if o.Limit > 0 {
		s.Metric, s.Limit = o.Metric, o.Limit
		if err := s.mixture(); err != nil {
			return nil, err
		}
	}
	return &s.Result, nil
}

// keep lists the weights and says which stay as they are.
func (s *study) keep() {
	for i, w := range s.weights {
		switch {
		case w.fp16() == nil:
			w.kept = "a value of it is not a number in fp16"
		case s.o.Ends || len(s.weights) < fewWeights:
		case i == 0:
			w.kept = "the first layer stays dense"
		case i == len(s.weights)-1:
			w.kept = "the last layer stays dense"
		}
		op := w.reads[0]
		s.Weights = append(s.Weights, Weight{
			Name: w.name, Line: op.Pos.Line, Op: op.Def.Name, Type: w.data.Type.String(), Bytes: w.bytes(),
			Kept: w.kept, Forms: []WeightForm{},
		})
		for _, pos := range w.places() {
			s.sharing[pos]++
		}
	}
	for _, f := range s.p.Funcs {
		ir.Walk(f, func(op *ir.Op) {
			if ir.IsConstexpr(op) {
				s.Already++
			}
		})
	}
}

// places returns where the operations are that read the weight.
func (w *weight) places() (out []ir.Pos) {
	for _, op := range w.reads {
		at := ir.Pos{Line: op.Pos.Line, Col: op.Pos.Col} // as in reports
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// step reports that one more step is done.
func (s *study) step(what string) {
	s.done++
	if s.o.Progress != nil {
		s.o.Progress(what, s.done, max(s.total, s.done))
	}
}

// reference makes the inputs and runs the function on them in fp32.
func (s *study) reference() error {
	s.inputs = map[string]interp.Tensor{}
	var budget verify.Budget
	for _, v := range s.f.Body.Params {
		if v.Type.Kind == ir.State {
			continue
		}
		t, ok := s.o.Inputs[v.Name]
		if !ok {
			of := v.Type
			if d := s.f.Flex.Default[v.Name]; d != nil {
				of = of.WithShape(d...)
			}
			var err error
			if t, err = budget.Random(of, v.Name, s.o.Seed); err != nil {
				return err
			}
		}
		s.inputs[v.Name] = t
	}
	in := map[string]interp.Tensor{}
	wide, _ := ir.Widen(s.f)
	s.Reference = "fp32"
	if ir.Verify(&ir.Program{Version: s.p.Version, Files: s.p.Files, Funcs: []*ir.Func{wide}}) != nil {
		s.Reference, wide = "as declared", s.f
	}
	for i, v := range s.f.Body.Params {
		t, ok := s.inputs[v.Name]
		if ok && t.Type.DType != wide.Body.Params[i].Type.DType {
			t = interp.Share32(t.Type.Shape, t.Floats32())
		}
		if ok {
			in[v.Name] = t
		}
	}
	var err error
	s.want, err = interp.Run(s.ctx, wide, in, interp.Options{Workers: s.o.Compile.Workers})
	s.step("reference")
	return err
}

// errorOf runs the function with weights as chosen.
func (s *study) errorOf(c choice) (*Error, error) {
	f, err := c.values(s.f, s.Opset)
	if err != nil {
		return nil, err
	}
	got, err := interp.Run(s.ctx, f, s.inputs, interp.Options{Workers: s.o.Compile.Workers})
	if err != nil {
		return nil, err
	}
	return compare(s.f.Body.Outputs, s.want, got)
}

// estimate returns the report of the program with weights as chosen.
func (s *study) estimate(c choice) (*compile.Report, error) {
	p, err := c.apply(s.p, s.Opset)
	if err != nil {
		return nil, err
	}
	var r *compile.Report
	o := s.o.Compile
	o.Progress = nil
	err = compile.Compile(s.ctx, p, o, compile.Sink{Estimate: compile.To(&r)})
	if err != nil && !compile.Exceeds(err) {
		return nil, err
	}
	return r, nil
}

// row adds the row of a form, with its estimate and the error of the outputs.
func (s *study) row(form string, c choice) error {
	e, err := s.errorOf(c)
	s.step(form)
	if err != nil {
		return err
	}
	return s.measured(form, c, e)
}

// measured adds the row of a form whose outputs have an error.
func (s *study) measured(form string, c choice, e *Error) error {
	r, err := s.estimate(c)
	s.step(form)
	if err != nil {
		return err
	}
	row := Row{
		Form: form, Weights: len(c), Bytes: s.constant, Container: r.Weights, Time: r.CallTime(), Error: e,
	}
	if r.Estimate == nil {
		row.Time = 0
	}
	times := map[ir.Pos]cost.Time{}
	streams := map[string]*compile.CompressedInfo{}
	for _, one := range r.Each() {
		for i := range one.Ops {
			o := &one.Ops[i]
			times[ir.Pos{Line: o.Line, Col: o.Col}] += o.Time()
		}
		for i := range one.Compressed {
			streams[one.Compressed[i].Name] = &one.Compressed[i]
		}
	}
	if form == AsItIs {
		s.times = times
	}
	for i, w := range s.weights {
		out, e := &s.Weights[i], c[w]
		var saves cost.Time
		for _, pos := range w.places() {
			if saves += (s.times[pos] - times[pos]) / cost.Time(s.sharing[pos]); form == AsItIs {
				out.Time += times[pos]
			}
		}
		if e == nil {
			continue
		}
		row.Bytes += e.bytes() - w.bytes()
		info := cmp.Or(streams[w.name+e.suffix], &compile.CompressedInfo{Why: "no operation of the function reads it"})
		if info.Streams {
			row.Streams++
		} else {
			row.Folds++
			row.Why = cmp.Or(row.Why, info.Why)
		}
		if form != Mixture {
			out.Forms = append(out.Forms, WeightForm{
				Form: form, Bytes: e.bytes(), Ratio: e.ratio, Streams: info.Streams, Why: info.Why,
				Saves: saves,
			})
		}
	}
	if g := FormOf(form); g != nil {
		for _, t := range target.All {
			if t.Streams(g.Stream) && t.Base == "" { // what older targets read is not published
				row.Targets = append(row.Targets, t.Name)
			}
		}
	}
	s.Rows = append(s.Rows, row)
	s.choices[form] = c
	return nil
}

// form adds the row of a form of all weights that may have it.
func (s *study) form(g *Form) error {
	c := choice{}
	for _, w := range s.weights {
		if w.kept != "" {
			continue
		}
		e, err := g.in(w, s.Opset)
		if err != nil {
			return err
		}
		if e != nil {
			c[w] = e
		}
	}
	s.step(g.Name)
	switch {
	case len(c) > 0:
		return s.row(g.Name, c)
	case s.o.Limit == 0 && len(s.o.Forms) == 1:
		return fmt.Errorf("%sno weight can have the form %s, %s", at(s.p, s.f.Pos), g.Name, g.Doc)
	}
	return nil
}

// each measures the outputs with each weight alone in each form.
func (s *study) each() error {
	var macs float64
	for _, op := range s.f.Body.Ops {
		macs += float64(opwork.MACs(op))
	}
	runs := 0
	for i := range s.Weights {
		runs += len(s.Weights[i].Forms)
	}
	if !s.o.Each && macs*float64(runs) > eachMACs {
		return nil
	}
	s.total += runs
	for i, w := range s.weights {
		for k := range s.Weights[i].Forms {
			x := &s.Weights[i].Forms[k]
			e, err := s.errorOf(choice{w: s.choices[x.Form][w]})
			if err != nil {
				return err
			}
			x.Error = e
			s.step(w.name)
		}
	}
	return nil
}

// Apply returns the program with its weights as in the row of a form.
func (r *Result) Apply(form string) (*ir.Program, error) {
	c, ok := r.choices[form]
	if !ok {
		return nil, fmt.Errorf("%q was not studied", form)
	}
	return c.apply(r.p, r.Opset)
}

// at returns a place as the beginning of an error.
func at(p *ir.Program, pos ir.Pos) string {
	if place := p.PosString(pos); place != "" {
		return place + ": "
	}
	return ""
}
