package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/ir"
)

// Values of --as.
const (
	asZinc   = "zinc"
	asCoreML = "coreml"
)

// maxRulesFile is the largest file of rules that is read: thousands of times what zinc's own take.
const maxRulesFile = 16 << 20

// coremlFlags are the flags of a forecast of Core ML's own placement.
type coremlFlags struct {
	as, units, rules string
	rulesFlag        string // name of the flag of rules, "" for rules
}

func (c *coremlFlags) register(f *pflag.FlagSet) {
	f.Var(newChoice(&c.as, asZinc, asCoreML), "as",
		"whose placement: zinc's own, or the one that Core ML is forecast to choose")
	var units []string
	for _, u := range coreml.AllUnits {
		units = append(units, string(u))
	}
	f.Var(newChoice(&c.units, units...), "units", "compute units that Core ML may use, with --as coreml "+
		"and --compare-plan")
	f.StringVar(&c.rules, "rules", coreml.Names()[0], "`RULES` of a chip and system, with --as coreml and "+
		"--compare-plan: "+strings.Join(coreml.Names(), ", ")+", or a file")
}

// load returns the rules that --rules names.
func (c *coremlFlags) load() (*coreml.Rules, error) {
	if slices.Contains(coreml.Names(), c.rules) || !strings.ContainsAny(c.rules, `./\`) {
		r, err := coreml.Named(c.rules)
		if err != nil {
			return nil, usagef("--%s: %w; or name a file of rules by its path, as in ./my.tsv",
				cmp.Or(c.rulesFlag, "rules"), err)
		}
		return r, nil
	}
	b, err := regularfile.ReadUpTo(c.rules, maxRulesFile)
	if err != nil {
		return nil, err
	}
	return coreml.Read(bytes.NewReader(b), filepath.ToSlash(c.rules))
}

// zincOnly are the flags of check that concern zinc's own placement, besides budgets.
var zincOnly = []string{"target", "precision", "place", "advice", "apply", "output", "work", "seed", "sarif",
	"require-engine", "report", "base"}

// forecastAlone reports flags that are about zinc's own placement beside a flag about Core ML's.
func (c *checkCommand) forecastAlone(flag string) error {
	var wrong []string
	c.flags.Visit(func(f *pflag.Flag) {
		budget := slices.ContainsFunc(report.Budgets, func(b report.Budget) bool { return b.ID == f.Name })
		if budget || slices.Contains(zincOnly, f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	if len(wrong) > 0 {
		return usagef("check: %s conflicts with %s, which %s about zinc's own placement", flag,
			strings.Join(wrong, ", "), map[bool]string{true: "is", false: "are"}[len(wrong) == 1])
	}
	return nil
}

// forecast prints where Core ML itself would run the operations of the model.
func (c *checkCommand) forecast(ctx context.Context, path string) error {
	if err := c.forecastAlone("--as coreml"); err != nil {
		return err
	}
	f := c.compileFlags
	f.assume = true // no value decides a place
	m, err := f.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	plans, err := c.coreml.plans(ctx, m.Program, c.function, c.shapes)
	if err != nil {
		return err
	}
	model := filepath.ToSlash(m.Path)
	if c.json {
		return jsonform.Document(c.env.out, coreml.NewDocument(model, plans))
	}
	words := append([]string{"zinc", "check", path}, givenFlags(c.flags, forecastFlags)...)
	return c.printText(answerTints, func(w io.Writer) error {
		for i, p := range plans {
			if i > 0 {
				fmt.Fprintln(w)
			}
			write := func() error { return p.WriteText(w, model, shellwords.Join(append(words, "--all"))) }
			if c.all || c.cpu {
				write = func() error { return p.WriteTable(w, model, !c.all, c.sort == sortTime) }
			}
			if err := write(); err != nil {
				return err
			}
		}
		return nil
	})
}

// forecastDefault is the forecast that a report has if no flag chooses another.
var forecastDefault = coremlFlags{units: string(coreml.All), rules: coreml.Names()[0]}

// forecasts returns the forecasts of the functions that are compiled with the flags, nil if there is none. It is called
// before the compilation, which rewrites the program.
func (c *coremlFlags) forecasts(ctx context.Context, p *ir.Program, f *compileFlags) []*coreml.Plan {
	sets, err := parseShapes(f.shapes)
	if err != nil || len(sets) > 1 {
		return nil
	}
	plans, err := c.plans(ctx, p, f.function, f.shapes)
	if err != nil {
		return nil // the compilation reports what is wrong
	}
	return plans
}

// forecastFlags are the flags that a forecast depends on.
var forecastFlags = []string{"as", "units", "rules", "func", "shape", "weights", "follow"}

// options returns the options of the forecast for one function.
func (c *coremlFlags) options(function string, shapes []string) (coreml.Options, error) {
	o := coreml.Options{Units: coreml.Units(c.units), Func: function}
	sets, err := parseShapes(shapes)
	switch {
	case err != nil:
		return o, err
	case len(sets) > 1:
		return o, usagef("a forecast is for one shape at a time, --shape names %d", len(sets))
	case len(sets) == 1:
		o.Shapes = sets[0]
	}
	o.Rules, err = c.load()
	return o, err
}

// plans forecasts the function of a program, all of them if it is "".
func (c *coremlFlags) plans(ctx context.Context, p *ir.Program, function string, shapes []string) ([]*coreml.Plan,
	error) {
	o, err := c.options(function, shapes)
	if err != nil {
		return nil, err
	}
	return coreml.Functions(ctx, p, o)
}
