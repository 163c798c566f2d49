package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/frontend/computeplan"
	"github.com/zinc-compiler/zinc/inspect/plandiff"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// dumpFlags are the flags of a comparison with what Core ML decided.
type dumpFlags struct {
	path string // "" for none
	most int    // differences; -1 for any number
}

func (d *dumpFlags) register(f *pflag.FlagSet) {
	f.StringVar(&d.path, "compare-plan", "", "compare Core ML's own decisions, in a dump `FILE`, with the forecast")
	f.IntVar(&d.most, mostDifferences, -1, "fail if more than `N` operations are on another device in the plan than "+
		"in the forecast")
}

const mostDifferences = "max-plan-differences"

// check reports values that are wrong for every model.
func (d *dumpFlags) check(f *pflag.FlagSet) error {
	switch {
	case d.most < 0 && f.Changed(mostDifferences):
		return usagef("--%s=%d: must be 0 or more", mostDifferences, d.most)
	case d.path == "" && f.Changed(mostDifferences):
		return usagef("--%s compares with a plan; name it with --compare-plan FILE", mostDifferences)
	}
	return nil
}

// comparePlan prints where Core ML's own decisions and their forecast differ.
func (c *checkCommand) comparePlan(ctx context.Context, path string) error {
	if err := c.forecastAlone("--compare-plan"); err != nil {
		return err
	}
	plan, err := computeplan.Read(c.dump.path, c.stdin)
	if err != nil {
		return err
	}
	o, err := c.coreml.options(cmp.Or(c.function, plan.Function()), c.shapes)
	if err != nil {
		return err
	}
	if plan.Units != "" && !c.flags.Changed("units") {
		o.Units = coreml.Units(plan.Units)
	}
	f := c.compileFlags
	f.assume = true // no value decides a place
	m, err := f.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	p, err := coreml.Forecast(ctx, m.Program, o)
	if err != nil {
		return err
	}
	r := plandiff.Compare(plan, p)
	r.Model, r.Plan = filepath.ToSlash(m.Path), filepath.ToSlash(c.dump.path)
	if err := c.printPlan(r); err != nil {
		return err
	}
	if n := len(r.Differences); c.dump.most >= 0 && n > c.dump.most {
		err := fmt.Errorf("check: %s on another device in the plan; --%s allows %d",
			diag.Count(n, "operation is", "operations are"), mostDifferences, c.dump.most)
		return &exitError{err: err, status: statusBudget}
	}
	return nil
}

func (c *checkCommand) printPlan(r *plandiff.Result) error {
	if c.json {
		return jsonform.Document(c.env.out, r)
	}
	return c.printText(answerTints, func(w io.Writer) error { return r.WriteText(w, c.all) })
}
