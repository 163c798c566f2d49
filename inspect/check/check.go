package check

import (
	"context"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/analysis/reported"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/decoder"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
)

// Result is what `zinc check --json` prints.
type Result struct {
	Model   string   `json:"model"`   // path of the text
	Targets []Target `json:"targets"` // placements, in the order of the targets
	// Generations compare the smallest chip of each generation; only of all targets.
	Generations []report.Generation `json:"generations,omitempty"`
}

// Target is the placement on one target.
type Target struct {
	*compile.Report
	EngineOpsPercent  float64 `json:"engine_ops_percent"`  // share of the operations on the engine
	EngineMACsPercent float64 `json:"engine_macs_percent"` // 100 if there are none
	// Assumed are the weight files that are missing, with what needs them: their values were assumed.
	Assumed []string `json:"assumed_weights,omitempty"`
	// Exceeds says why no container has room for the model, if that is so. The times are then of its tasks in
	// several containers; there are none if its tasks cannot be lowered.
	Exceeds    string             `json:"exceeds,omitempty"`
	Advice     []report.Advice    `json:"advice,omitempty"`     // what to change, the largest saving first
	Search     *report.Search     `json:"search,omitempty"`     // how changes were looked for
	CoreML     *report.CoreML     `json:"coreml,omitempty"`     // where Core ML itself would run the operations
	Failures   []string           `json:"failures,omitempty"`   // of --require-engine and of budgets, as text
	Violations []report.Violation `json:"violations,omitempty"` // budgets that were exceeded
	// Explain has an element for each operation that the engine refuses.
	Explain []Suggestion `json:"explain,omitempty"`
	// Reported are the public reports about Apple's compiler and runtime that apply.
	Reported []*reported.Finding `json:"reported,omitempty"`
	// RefusedInRecords counts the operations on the engine in a form that Apple's compiler refused in records.
	RefusedInRecords int `json:"refused_in_records,omitempty"`

	// Decoder is what a program with states is worth as a language model.
	Decoder *decoder.Answer `json:"decoder,omitempty"`

	Err error `json:"-"` // of Exceeds
}

// Options say what is placed and how.
type Options struct {
	Path    string // of the model, in commands
	Compile compile.Options
	// Open opens the model again: placing rewrites a program.
	Open func() (*frontend.Model, error)
	// Forecast is where Core ML is forecast to run the operations, of the program as it is before it is placed.
	Forecast []*coreml.Plan
	// SourceFlags and ForecastFlags are the flags of commands that explain an operation and print the forecast.
	SourceFlags, ForecastFlags []string
	Tables                     bool // find the errors of lookup tables
	Places                     bool // nothing but places is of interest
	Whole                      bool // compile, with the bytes of everything
	Fits                       bool // a model for which no container has room is an error
}

// Place places a model, which rewrites its program, and estimates it where zinc writes programs for the target.
func Place(ctx context.Context, m *frontend.Model, o *Options) (Target, error) {
	others := reported.Find(m.Program, reported.Options{
		FP16:    passes.PrecisionOf(o.Compile.Precision, m.Program) == passes.PrecisionFP16,
		Records: o.Compile.Target.Whole(),
	})
	var states *decoder.Source
	var placed *[]*compile.Function
	ranged := slices.ContainsFunc(m.Program.Funcs, func(f *ir.Func) bool { return len(f.Flex.Ranges) > 0 })
	if decoder.Has(m.Program) && o.Compile.Target.Whole() && !o.Places {
		states, placed = decoder.Of(m.Program, o.Compile.Func), new([]*compile.Function)
	}
	rep, err := o.report(ctx, m.Program, placed)
	exceeds := err
	if compile.Exceeds(err) && !o.Fits {
		err = nil
		if rep == nil {
			rep, err = o.plan(ctx)
		}
	}
	if err != nil {
		return Target{}, err
	}
	t := Target{
		Report:            rep,
		EngineOpsPercent:  report.Percent(int64(rep.EngineOps), int64(rep.CPUOps)),
		EngineMACsPercent: report.Percent(rep.EngineMACs, rep.CPUMACs),
	}
	if t.CoreML = report.NewCoreML(o.Forecast, rep); t.CoreML != nil {
		t.CoreML.Command = shellwords.Join(append([]string{"zinc", "check", o.Path, "--as", "coreml"},
			o.ForecastFlags...))
	}
	if exceeds != nil {
		t.Exceeds, t.Err = exceeds.Error(), exceeds
	}
	if states != nil && rep.Estimate != nil {
		fs, reports := *placed, slices.Clone(rep.Each())
		if ranged && len(o.Compile.Shapes) == 0 && !o.Fits {
			if err := o.lengths(ctx, &fs, &reports); err != nil {
				return Target{}, err
			}
		}
		t.Decoder = states.Answer(fs, reports, rep, o.Compile.Target)
	}
	for _, f := range m.Missing {
		t.Assumed = append(t.Assumed, f.String())
	}
	rep.Timings = nil // not a fact about the model
	for _, f := range rep.Functions {
		f.Timings = nil
	}
	t.Reported, t.RefusedInRecords = reported.OnEngine(others, rep)
	t.Explain = NewExplains(o.Path, o.SourceFlags, rep).list(rep)
	return t, nil
}

// report compiles the program as far as the options want. placed, if it is not nil, is set to the functions as they
// were placed.
func (o *Options) report(ctx context.Context, p *ir.Program, placed *[]*compile.Function) (*compile.Report, error) {
	var r *compile.Report
	var to compile.Sink
	switch {
	case o.Compile.Target.TD == 0, !o.Whole && o.Places:
		to.Plan = compile.To(&r)
	case o.Whole:
		to.Report = compile.To(&r)
	default:
		to.Estimate = compile.To(&r)
	}
	if placed != nil {
		to.Placed = compile.To(placed)
	}
	err := compile.Compile(ctx, p, o.Compile, to)
	if r != nil && to.Estimate != nil && o.Tables {
		r.FindTables()
	}
	return r, err
}

// plan places a model that no container has room for.
func (o *Options) plan(ctx context.Context) (*compile.Report, error) {
	m, err := o.Open()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	var r *compile.Report
	err = compile.Compile(ctx, m.Program, o.Compile, compile.Sink{Plan: compile.To(&r)})
	return r, err
}
