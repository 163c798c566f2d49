package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
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
	measured string
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

Every statement of the lowered program is computed by the interpreter from the operands
that the engine held, and must differ from what the engine stored by no more than the
rounding errors of that statement can add up to. Statements that passes rewrote are
compared with those of the source. For each output zinc prints the difference from the
source's own outputs in units in the last place and in per cent of the output's scale,
the bound that decides, and the statement whose difference is closest to its bound. The
bound is that of the whole program if it is at most %d %% of the scale, or the widest one
of the statements before the output (docs/numerics.md). An output that the interpreter
computes in both runs, or that is equal to the last bit, needs no bound. Where a bound is
over %d %% or rounding adds up to more, zinc proves the pair (zinc prove): if bytes and
statements are proved, all that is left is rounding, and the output passes as "proved".

With --measured a run on hardware takes the place of the simulated one: FILE is the
record that examples/hardware writes beside its arrays (docs/hardware.md). The model must
compile to the program that ran. The outputs of the device are compared with the
reference, by the same bounds, and with those of the simulated engine, and the times of
its calls with the estimate.

With --first-departure zinc prints the first statement beyond its bound: its task, its
line and both values.

The exit status is 5 when a statement or an output is beyond its bound, or the proof shows
an error; 6 when zinc cannot tell, for example because the reference is NaN or the proof is
open: the reason names the statement and the largest part of its bound; and 4 when a budget
is exceeded.`, verify.MaxRandomInt, verify.MaxPercent, verify.MaxPercent),
		Example: `  zinc verify digits.mlmodelc --seed 1
  zinc verify digits.mlmodelc --input image=7.npy
  zinc verify model.mil --seed 2 --json
  zinc verify model.mil --seed 2 --engine sim
  zinc verify model.mil --first-departure
  zinc verify digits.mlmodelc --measured record.json
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
		"instead, report the first statement beyond its bound")
	f.Var(newChoice(&c.engine, "direct", "sim"), "engine", "direct, the engine without the layers above it; or sim, "+
		"the simulator of the whole stack")
	f.StringVar(&c.measured, "measured", "", "compare the outputs of a run on hardware that `FILE` records")
	f.BoolVar(&c.prove, "prove", false,
		"also prove that the pair computes the program that was lowered (docs/prove.md)")
	f.Var(newArithmetic(&c.numerics), "numerics", "arithmetic of the simulated engine")
	c.budgets.register(f)
	c.model(f)
	exclusive(cmd, "json", "sarif")
	exclusive(cmd, "first-departure", "prove", "sarif")
	exclusive(cmd, "measured", "input")
	exclusive(cmd, "measured", "first-departure", "sarif")
	return cmd
}

func (c *verifyCommand) run(cmd *cobra.Command, path string) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.budgets.check(); err != nil {
		return err
	}
	if c.first && len(c.budgets.limits) > 0 {
		return usagef("verify: --first-departure cannot be combined with a budget")
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
	given, err := c.tensors(path, "input", inputPorts(m.Program), files)
	if err != nil {
		return err
	}
	if c.measured != "" {
		if err := c.driverForm(cmd.Flags()); err != nil {
			return err
		}
	}
	p := c.newProgress(c.progress)
	defer p.end()
	o, err := c.options(c.env, m.Path, p)
	if err != nil {
		return err
	}
	var hw *record
	if c.measured != "" {
		if hw, err = openRecord(c.measured, c.stdin); err == nil {
			given, err = hw.match(&c.compileFlags, cmd.Context(), c.env, m, o)
		}
		if err != nil {
			return err
		}
	}
	vo := verify.Options{Compile: o, Seed: c.seed, Inputs: given, Numerics: mode, Workers: c.workers, Progress: p.step,
		Prove: c.prove}
	if c.engine == "sim" {
		vo.Through = func(ctx context.Context, m *sim.Machine) (verify.Runner, error) {
			s, err := new(machineFlags).build(ctx, loadingMachine(m), mode, c.workers, nil)
			return whole{s}, err
		}
	}
	if hw != nil {
		vo.Through = hw.through(mode)
	}
	r, err := verify.Run(cmd.Context(), m.Program, vo)
	p.end()
	if fault := (*verify.FaultError)(nil); errors.As(err, &fault) {
		return &internalError{err: err}
	}
	if err != nil {
		return c.located(m, c.inputs, err)
	}
	judged, err := c.budgets.judge(cmd.Context(), &c.compileFlags, c.env, r.Report)
	if err != nil {
		return err
	}
	out := verifyResult{Result: r, Violations: judged}
	if hw != nil {
		out.Measured = &hw.shown
	}
	out.Violations = append(out.Violations, report.JudgeOutputs(r.Report.Target, outputErrors(r), c.budgets.limits)...)
	switch {
	case c.first && c.json:
		d := departures{Seed: r.Seed, Numerics: r.Numerics, Statements: r.Statements, First: r.First}
		err = jsonform.Document(c.out, &d)
	case c.first:
		err = c.printText(verifyTints, r.DepartureText)
	case c.json:
		err = jsonform.Document(c.out, &out)
	case c.sarif:
		err = sarif.Write(c.out, out.review(filepath.ToSlash(m.Path)))
	default:
		err = c.printText(verifyTints, r.Text)
		if hw != nil {
			hw.shown.writeText(c.out, r.Report)
		}
	}
	if err != nil {
		return err
	}
	if !c.json && !c.sarif {
		c.next(cmd, path, r)
	}
	c.note("%s", r.Report.Line())
	passed := c.violations("verify: ", out.Violations)
	if r.Verdict == verify.Fail {
		names := r.Failed()
		if len(names) == 0 {
			names = []string{r.First.Value}
		}
		fmt.Fprintf(c.err, "zinc: verification failed: %s beyond the bound\n", strings.Join(names, ", "))
		return &exitError{err: errors.New("verification failed"), status: statusVerify, shown: true}
	}
	if r.Proof != nil && (r.Proof.Verdict == prove.Wrong || c.prove && r.Proof.Verdict != prove.Proved) {
		return c.notProved(r.Proof.Conclusion())
	}
	if r.Verdict == verify.CannotTell && passed == nil {
		fmt.Fprintf(c.err, "zinc: verification cannot tell whether %s is right\n", strings.Join(r.Untold(), ", "))
		return &exitError{err: errors.New("verification cannot tell"), status: statusUntold, shown: true}
	}
	return passed
}

// next prints the commands that say more of a result that does not pass.
func (c *verifyCommand) next(cmd *cobra.Command, path string, r *verify.Result) {
	if r.Pass {
		return
	}
	fmt.Fprintln(c.out, "next")
	show := func(what, line string) { fmt.Fprintf(c.out, "  %s\n    %s\n", what, line) }
	if r.First != nil && !c.first {
		show("the first statement beyond its bound, with its task and line",
			follow(cmd, "verify", path, "--first-departure"))
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	show("whether the pair computes the model, without a tolerance",
		follow(cmd, "", path, "-o", name+".hwx")+" && "+follow(cmd, "prove", name+".hwx", path))
	if r.Verdict == verify.Fail && len(c.inputs) == 0 { // candidates run on random inputs
		show("a smaller model that fails as well",
			follow(cmd, "reduce", path, "--predicate", "verify", "-o", name+"-reduced.mil"))
	}
}

// departures is what `zinc verify --first-departure --json` prints.
type departures struct {
	Seed       uint64            `json:"seed"`            // seed of the inputs
	Numerics   string            `json:"numerics"`        // arithmetic of the engine: ane, ane-wide, ane-fixed or ieee
	Statements int               `json:"statements"`      // compared
	First      *verify.Departure `json:"first,omitempty"` // first statement beyond its bound, if there is one
}

// verifyResult is what `zinc verify --json` prints.
type verifyResult struct {
	*verify.Result
	Violations []report.Violation `json:"violations,omitempty"` // budgets that were exceeded
	Measured   *measuredJSON      `json:"measured,omitempty"`   // run on hardware, with --measured
}

// boundRule is the SARIF rule of an output that does not pass.
const boundRule = "bound"

// review returns the result as findings.
func (r *verifyResult) review(model string) sarif.Run {
	run := report.Review(&report.Document{
		Model:      model,
		Report:     r.Report,
		Violations: r.Violations,
	}, "zinc verify", sarif.Note)
	run.Rules = append(run.Rules, sarif.Rule{
		ID:  boundRule,
		Doc: "Statements of the engine stay within the bound of their arithmetic.",
	})
	for _, o := range r.Outputs {
		if o.Pass {
			continue
		}
		run.Findings = append(run.Findings, sarif.Finding{
			Rule: boundRule, Level: sarif.Error, File: model, Name: o.Name,
			Message:    fmt.Sprintf("Output %q, %s: %s.", o.Name, o.Verdict, o.Why),
			Properties: map[string]any{"value": o.MaxAbs, "limit": o.Bound},
		})
	}
	return run
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
