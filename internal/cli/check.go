package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/target"
)

// checkCommand is the state of `zinc check MODEL`.
type checkCommand struct {
	*env
	compileFlags
	json, sarif   bool
	requireEngine bool
	minMACs       float64
}

func newCheck(e *env) *cobra.Command {
	c := &checkCommand{env: e}
	cmd := &cobra.Command{
		Use:     "check MODEL",
		GroupID: groupModel,
		Short:   "Tell where each operation of a model runs, and why",
		Long: `Check places the operations of MODEL for one or more targets, without writing
anything. It prints, for each operation, engine or CPU; for one on the CPU the
rule that keeps it there, the value that breaks the rule, what the target
allows, and a rewrite where one is known; and for each dispatch what cut it from
the one before. Targets that zinc writes no programs for can be checked: their
published limits and gates are used with the rules of h13.

With --require-engine or --min-engine-macs the exit status is 1 when the model
falls short on any of the targets.`,
		Example: `  zinc check model.mlmodelc
  zinc check model.mil --target h13,h14,h15 --precision fp16
  zinc check model.mil --require-engine --sarif >placement.sarif`,
		Args: operands(1, 1, "one MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	c.model(f)
	f.Lookup("target").Usage = "hardware `TARGETS`, separated by commas, or all: " + strings.Join(target.Names(), ", ")
	for _, name := range []string{"split-kernel-section", "td-form", "workers"} {
		f.MarkHidden(name) // nothing is packed
	}
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.sarif, "sarif", false, "print SARIF 2.1.0, a result for each operation on the CPU")
	f.BoolVar(&c.requireEngine, "require-engine", false, "fail when any operation runs on the CPU")
	f.Float64Var(&c.minMACs, "min-engine-macs", 0, "fail when less than this `PERCENT` of multiply-accumulates runs on the engine")
	return cmd
}

// checkResult is what `zinc check --json` prints.
type checkResult struct {
	Model   string         `json:"model"` // path of the text
	Targets []targetResult `json:"targets"`
}

// targetResult is the placement on one target.
type targetResult struct {
	*compile.Report
	EngineOpsPercent  float64  `json:"engine_ops_percent"`
	EngineMACsPercent float64  `json:"engine_macs_percent"` // 100 when there are none
	Failures          []string `json:"failures,omitempty"`  // of --require-engine and --min-engine-macs
}

func (c *checkCommand) run(ctx context.Context, path string) error {
	if c.json && c.sarif {
		return usagef("check: --json and --sarif: choose one")
	}
	if c.minMACs < 0 || c.minMACs > 100 || c.minMACs != c.minMACs {
		return usagef("--min-engine-macs=%g: must be a percentage, 0 to 100", c.minMACs)
	}
	names := strings.Split(c.target, ",")
	if c.target == "all" {
		names = target.Names()
	}
	flags := make([]compileFlags, len(names))
	for i, n := range names {
		flags[i] = c.compileFlags
		flags[i].target = strings.TrimSpace(n)
		if err := flags[i].check(); err != nil {
			return err
		}
	}
	var r checkResult
	for i := range flags {
		t, text, err := c.place(ctx, &flags[i], path, i == 0)
		if err != nil {
			return err
		}
		r.Model = filepath.ToSlash(text)
		r.Targets = append(r.Targets, t)
	}
	if err := c.print(&r); err != nil {
		return err
	}
	var fails []string
	for _, t := range r.Targets {
		fails = append(fails, t.Failures...)
	}
	if len(fails) > 0 {
		return errors.New("check: " + strings.Join(fails, "; "))
	}
	return nil
}

// place plans the model for one target. Planning rewrites the program, so each
// target opens the model anew; warnings are printed once.
func (c *checkCommand) place(ctx context.Context, f *compileFlags, path string, first bool) (targetResult, string, error) {
	quiet := *c.env
	if !first {
		quiet.err = io.Discard
	}
	m, err := f.open(&quiet, path)
	if err != nil {
		return targetResult{}, "", err
	}
	defer m.Close()
	p := c.newProgress(f.progress)
	defer p.end()
	o, err := f.options(c.env, m.Path, p)
	if err != nil {
		return targetResult{}, "", err
	}
	rep, err := compile.Plan(ctx, m.Program, o)
	if err != nil {
		return targetResult{}, "", err
	}
	t := targetResult{
		Report:            rep,
		EngineOpsPercent:  percent(int64(rep.EngineOps), int64(rep.CPUOps)),
		EngineMACsPercent: percent(rep.EngineMACs, rep.CPUMACs),
	}
	rep.Timings = nil // not a fact about the model
	if c.requireEngine && rep.CPUOps > 0 {
		n := rep.CPUOps
		t.Failures = append(t.Failures, fmt.Sprintf("%d %s on the CPU for %s, --require-engine allows none", n, verb(n, "operation runs", "operations run"), rep.Target))
	}
	if t.EngineMACsPercent < c.minMACs {
		t.Failures = append(t.Failures, fmt.Sprintf("%.4g %% of multiply-accumulates run on the engine for %s, --min-engine-macs asks for %g %%", t.EngineMACsPercent, rep.Target, c.minMACs))
	}
	return t, m.Path, nil
}

// percent is the share of part in part and rest, 100 when there is nothing.
func percent(part, rest int64) float64 {
	if part+rest == 0 {
		return 100
	}
	return 100 * float64(part) / float64(part+rest)
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (c *checkCommand) print(r *checkResult) error {
	switch {
	case c.json:
		return writeJSON(c.env.out, r)
	case c.sarif:
		return sarif.Write(c.env.out, c.sarifRuns(r)...)
	}
	for i := range r.Targets {
		if i > 0 {
			fmt.Fprintln(c.env.out)
		}
		if err := r.Targets[i].text(c.env.out, r.Model); err != nil {
			return err
		}
	}
	return nil
}

// sarifRuns has one run a target and one finding an operation on the CPU.
func (c *checkCommand) sarifRuns(r *checkResult) []sarif.Run {
	var runs []sarif.Run
	for _, t := range r.Targets {
		run := sarif.Run{
			Tool: "zinc", Version: compile.Version, ID: "zinc check/" + t.Target + "/",
			Properties: map[string]any{
				"target": t.Target, "precision": t.Precision, "function": t.Function,
				"engineOpsPercent": t.EngineOpsPercent, "engineMacsPercent": t.EngineMACsPercent, "dispatches": t.Dispatches,
			},
		}
		for _, rule := range target.Rules {
			run.Rules = append(run.Rules, sarif.Rule{ID: rule.ID, Doc: "On the engine " + rule.Doc + ".", Help: rule.Hint})
		}
		level := sarif.Note
		if c.requireEngine {
			level = sarif.Error
		}
		for _, o := range t.Ops {
			no := o.Refusal
			if no == nil {
				continue
			}
			msg := fmt.Sprintf("%s %q runs on the CPU: %s.", o.Op, o.Name, o.Reason)
			props := map[string]any{"operation": o.Op, "what": no.What, "value": no.Value, "limit": no.Limit, "macs": o.MACs}
			if no.Rewrite != "" {
				msg += " Rewrite: " + no.Rewrite + "."
				props["rewrite"] = no.Rewrite
			}
			run.Findings = append(run.Findings, sarif.Finding{
				Rule: no.Rule, Level: level, Message: msg, File: r.Model, Line: int(o.Line), Col: int(o.Col), Name: o.Name, Properties: props,
			})
		}
		runs = append(runs, run)
	}
	return runs
}
