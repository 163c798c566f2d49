package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/prove"
	"github.com/zinc-compiler/zinc/report"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/verify"
)

// verifyCommand is the state of `zinc verify`.
type verifyCommand struct {
	*env
	compileFlags
	seed     uint64
	json     bool
	sarif    bool
	budgets  budgetFlags
	numerics string
	engine   string
	inputs   []string
	first    bool
	prove    bool
}

func newVerify(e *env) *cobra.Command {
	c := &verifyCommand{env: e}
	cmd := &cobra.Command{
		Use:   "verify MODEL",
		Short: "Compare the engine with the reference on the same inputs",
		Long: fmt.Sprintf(`Verify compiles MODEL, loads the bytes of the pair into the simulator, runs it and the
reference interpreter on the same inputs, and compares every output. With --engine=sim
it runs through the whole stack above the engine, as zinc run does.

Inputs without --input are random: floats from the standard normal distribution,
integers from 0 to %d, bools with equal probability. They depend on the seed and the
input's name.

The tolerance of an output is computed by the interpreter: %d times the largest
difference in %d runs in which each engine operation has an error of its stated size,
plus one fp16 unit in the last place (docs/numerics.md).

With --first-departure zinc compares, as the tasks run, every value of the model that a
task of the engine writes, to a port, to scratch or to L2, with the interpreter's value
of its statement, by the same rule, and every output after them. The run ends at the
first value that departs, and reports its task, statement, line and both values.

The exit status is 5 when an output does not pass or a value departs, and 4 when a budget is
exceeded; --max-error limits errors that are within the tolerance.`, verify.MaxRandomInt, verify.SpreadFactor,
			verify.Perturbations),
		Example: `  zinc verify digits.mlmodelc --seed 1
  zinc verify digits.mlmodelc --input image=7.npy
  zinc verify model.mil --seed 2 --json
  zinc verify model.mil --seed 2 --engine sim
  zinc verify model.mil --first-departure
  zinc verify model.mil --max-error 0.01 --max-dispatches 1`,
		GroupID: groupRun,
		Args:    operands(1, 1, "one MODEL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.Uint64Var(&c.seed, "seed", firstSeed, "seed of the inputs")
	f.StringArrayVarP(&c.inputs, "input", "i", nil, "`NAME=FILE.npy`: read the input NAME from a file (repeatable)")
	f.BoolVar(&c.json, "json", false, "print the result as JSON")
	f.BoolVar(&c.sarif, "sarif", false, "print SARIF 2.1.0: operations on the CPU, outputs that do not pass, "+
		"budgets that were exceeded")
	f.BoolVar(&c.first, "first-departure", false,
		"instead, report the first task whose value departs from the interpreter's")
	f.Var(newChoice(&c.engine, "direct", "sim"), "engine", "direct, the engine without the layers above it; or sim, "+
		"the simulator of the whole stack")
	f.BoolVar(&c.prove, "prove", false,
		"also prove that the pair computes the program that was lowered (docs/prove.md)")
	f.Var(newArithmetic(&c.numerics), "numerics", "arithmetic of the simulated engine")
	c.budgets.register(f)
	c.model(f)
	return cmd
}

func (c *verifyCommand) run(cmd *cobra.Command, path string) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.json && c.sarif {
		return usagef("verify: --json and --sarif cannot be combined")
	}
	if c.first && c.prove {
		return usagef("verify: --first-departure and --prove cannot be combined")
	}
	if c.first && (c.sarif || len(c.budgets.limits) > 0 || c.engine == "sim") {
		return usagef("verify: --first-departure cannot be combined with --sarif, a budget or --engine=sim")
	}
	mode, err := numerics.ParseMode(c.numerics)
	if err != nil {
		return &usageError{err}
	}
	files, err := pairs("--input", c.inputs)
	if err != nil {
		return err
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	given, err := read(path, "input", inputPorts(m.Program), files)
	if err != nil {
		return err
	}
	p := c.newProgress(c.progress)
	defer p.end()
	o, err := c.options(c.env, m.Path, p)
	if err != nil {
		return err
	}
	vo := verify.Options{Compile: o, Seed: c.seed, Inputs: given, Numerics: mode, Workers: c.workers, Progress: p.step,
		Prove: c.prove}
	if c.engine == "sim" {
		vo.Through = func(ctx context.Context, m *sim.Machine) (verify.Runner, error) {
			s, err := new(machineFlags).buildFor(ctx, m, mode, c.workers, nil)
			return whole{s}, err
		}
	}
	if c.first {
		return c.departure(cmd.Context(), m.Program, vo, p)
	}
	r, err := verify.Run(cmd.Context(), m.Program, vo)
	p.end()
	if fault := (*verify.FaultError)(nil); errors.As(err, &fault) {
		return &internalError{err: err}
	}
	if err != nil {
		return err
	}
	out := verifyResult{Result: r, Violations: report.Judge(r.Report, c.budgets.limits)}
	out.Violations = append(out.Violations, report.JudgeOutputs(r.Report.Target, outputErrors(r), c.budgets.limits)...)
	switch {
	case c.json:
		err = jsonform.Document(c.out, &out)
	case c.sarif:
		err = sarif.Write(c.out, out.review(filepath.ToSlash(m.Path)))
	default:
		err = r.Text(c.out)
	}
	if err != nil {
		return err
	}
	c.note("%s", r.Report.Line())
	passed := c.violations("verify: ", out.Violations)
	if !r.Pass {
		fmt.Fprintf(c.err, "zinc: verification failed: %s outside the tolerance\n", strings.Join(r.Failed(), ", "))
		return &exitError{err: errors.New("verification failed"), status: statusVerify, shown: true}
	}
	if r.Proof != nil && r.Proof.Verdict != prove.Proved {
		fmt.Fprintf(c.err, "zinc: %s\n", prove.ErrNotProved)
		return &exitError{err: prove.ErrNotProved, status: statusVerify, shown: true}
	}
	return passed
}

// verifyResult is what `zinc verify --json` prints.
type verifyResult struct {
	*verify.Result
	Violations []report.Violation `json:"violations,omitempty"`
}

// toleranceRule is the SARIF rule of an output that does not pass.
const toleranceRule = "tolerance"

// review returns the result as findings.
func (r *verifyResult) review(model string) sarif.Run {
	run := report.Review(&report.Document{
		Model:      model,
		Report:     r.Report,
		Violations: r.Violations,
	}, "zinc verify", sarif.Note)
	run.Rules = append(run.Rules, sarif.Rule{
		ID:  toleranceRule,
		Doc: "Outputs of the engine stay within the tolerance computed by the interpreter.",
	})
	for _, o := range r.Outputs {
		if o.Pass {
			continue
		}
		run.Findings = append(run.Findings, sarif.Finding{
			Rule: toleranceRule, Level: sarif.Error, File: model, Name: o.Name,
			Message: fmt.Sprintf("Output %q differs by %v from the reference; the tolerance is %v.", o.Name, o.MaxAbs,
				o.Tolerance),
			Properties: map[string]any{"value": o.MaxAbs, "limit": o.Tolerance},
		})
	}
	return run
}

// departure reports the first value that departs.
func (c *verifyCommand) departure(ctx context.Context, program *ir.Program, o verify.Options, p *progress) error {
	d, err := verify.FirstDeparture(ctx, program, o)
	p.end()
	if fault := (*verify.FaultError)(nil); errors.As(err, &fault) {
		return &internalError{err: err}
	}
	if err != nil {
		return err
	}
	if c.json {
		err = jsonform.Document(c.out, d)
	} else {
		err = d.Text(c.out)
	}
	if err == nil && d.First != nil {
		fmt.Fprintf(c.err, "zinc: verification failed: %s is the first value that departs\n", d.First.Value)
		return &exitError{err: errors.New("verification failed"), status: statusVerify, shown: true}
	}
	return err
}

// inputPorts returns the inputs of a program's functions, the first of each name. verify checks
// values against the type of every input with that name.
func inputPorts(p *ir.Program) []port {
	var out []port
	for _, f := range p.Funcs {
		for _, v := range f.Body.Params {
			if v.Type.Kind == ir.Tensor && !slices.ContainsFunc(out, func(o port) bool { return o.name == v.Name }) {
				out = append(out, portOf(v.Name, v.Type))
			}
		}
	}
	return out
}
