package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/computeplan"
	"github.com/zinc-compiler/zinc/inspect/plandiff"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

func newCoreML(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "coreml rates",
		GroupID: groupUnderstand,
		Short:   "Fit the rates of Core ML's estimates from a dump",
		Long: `Coreml has the commands about Core ML's own placement. zinc check --as coreml forecasts it, and
zinc check --compare-plan compares a dump of it with the forecast.`,
		Example: "  zinc coreml rates analytics.csv --model model.mlmodelc -o m3.tsv",
		Args:    operands(1, 1, "rates"),
		RunE: func(_ *cobra.Command, args []string) error {
			return usagef("coreml: unknown command %q (want rates)", args[0])
		},
	}
	cmd.AddCommand(newCoreMLRates(e))
	return cmd
}

// ratesCommand is the state of `zinc coreml rates FILE`.
type ratesCommand struct {
	*env
	compileFlags
	forecast           coremlFlags
	model, output      string
	name, chip, system string
	all, json          bool
}

func newCoreMLRates(e *env) *cobra.Command {
	c := &ratesCommand{env: e, forecast: coremlFlags{rulesFlag: "base"}}
	cmd := &cobra.Command{
		Use:   "rates FILE",
		Short: "Fit rates from Core ML's own estimates",
		Long: `Rates fits the rates by which Core ML estimates operations on a chip and system from FILE, a
dump of its analytics that has the estimates of each backend, and --model, the model of the
dump; the MIL text of the analytics has the model itself.
--output writes them as a file that zinc check --as coreml --rules reads.

A rate is work over time. For each operation, rates are fitted to the measure of work that all
its estimates follow within ` + fmt.Sprint(100*coreml.FitTolerance) + ` %: one rate, a rate for each condition
of --base, or one for each interval of a measure such as flops a byte. What the dump does not say is taken from
--base: costs of changes, limits, operations that are not in it. It prints the rates with their
errors, what could not be fitted, and the operations with the largest residuals; --all
prints each residual.`,
		Example: `  zinc coreml rates analytics.csv --model model.mlmodelc -o m3.tsv
  zinc coreml rates analytics.csv --model model.mlmodelc --chip M3 --system "macOS 15" --all
  zinc check other.mil --as coreml --rules ./m3.tsv`,
		Args: operands(1, 1, "one FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.model, "model", "", "`MODEL` of the dump (default FILE, if it is MIL text)")
	f.StringVarP(&c.output, "output", "o", "", "`FILE` for the rules")
	f.StringVar(&c.forecast.rules, "base", coreml.Names()[0], "`RULES` that have what the dump does not: "+
		strings.Join(coreml.Names(), ", ")+", or a file")
	f.StringVar(&c.name, "name", "", "name of the rules (default the name of --output, or fitted)")
	f.StringVar(&c.chip, "chip", "", "chip of the dump (default what the dump says)")
	f.StringVar(&c.system, "system", "", "system of the dump (default what the dump says)")
	f.StringVar(&c.function, "func", "", "`FUNCTION` of the dump (default main or the only one)")
	f.StringArrayVar(&c.shapes, "shape", nil,
		"`NAME=1x3x224x224`: shape of an input instead of its default (repeatable)")
	c.files(f)
	f.BoolVar(&c.all, "all", false, "print the residual of every operation")
	f.BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

// ratesJSON is what zinc coreml rates --json prints.
type ratesJSON struct {
	Plan         string         `json:"plan"`         // path of the dump
	Model        string         `json:"model"`        // path of the model's text
	Rules        string         `json:"rules"`        // name of the rules
	Chip         string         `json:"chip"`         // of the rules
	System       string         `json:"system"`       // of the rules
	Operations   int            `json:"operations"`   // of the dump
	Joined       int            `json:"joined"`       // operations in the dump and in the model
	Observations int            `json:"observations"` // joined operations with estimates
	Rates        []rateJSON     `json:"rates"`        // fitted
	Unfitted     []unfittedJSON `json:"unfitted"`     // operations that follow no rate
	Base         []string       `json:"from_base"`    // operations whose rates are the base's
	Residuals    []residualJSON `json:"residuals"`    // in program order
}

// rateJSON is a fitted rate.
type rateJSON struct {
	Operation string             `json:"operation"` // "*" for all without a rate of their own
	When      string             `json:"when"`      // conditions, "-" for none
	Estimates int                `json:"estimates"` // operations that it was fitted to
	Times     map[string]string  `json:"times"`     // 10^9 a second and what is counted, by backend
	Worst     map[string]float64 `json:"worst"`     // largest relative error, by backend
}

// unfittedJSON is a kind of operation without a rate.
type unfittedJSON struct {
	Operation string   `json:"operation"`       // kind
	Estimates int      `json:"estimates"`       // operations
	Why       string   `json:"why"`             // how far the best rates are off
	Worst     *float64 `json:"worst,omitempty"` // largest relative error of the base's rates
}

// residualJSON is how far the fitted estimates of an operation are off.
type residualJSON struct {
	Operation string                     `json:"operation"` // kind
	Name      string                     `json:"name"`      // first output
	Line      int32                      `json:"line"`      // of the model's text
	Backends  []plandiff.BackendEstimate `json:"backends"`  // the dump's and the fitted estimates
}

func (c *ratesCommand) run(ctx context.Context, path string) error {
	plan, err := computeplan.Read(path, c.stdin)
	if err != nil {
		return err
	}
	o, err := c.forecast.options(cmp.Or(c.function, plan.Function()), c.shapes)
	if err != nil {
		return err
	}
	base := o.Rules
	c.assume = true // no value decides an estimate
	m, err := c.source(path)
	if err != nil {
		return err
	}
	defer m.Close()
	p, err := coreml.Forecast(ctx, m.Program, o)
	if err != nil {
		return err
	}
	join := plandiff.Join(plan, p)
	seen := observations(plan, p, join)
	if len(seen) == 0 {
		return fmt.Errorf("%s: no operation of %s has an estimate in the dump (%s); want a dump of Core ML's "+
			"analytics, with the estimates of each backend, of the same model", path, m.Path, plan.Form)
	}
	fit := coreml.FitRates(base, seen)
	c.describe(fit.Rules, base, plan, path)
	r := c.document(fit)
	r.Plan, r.Model = filepath.ToSlash(path), filepath.ToSlash(m.Path)
	r.Operations, r.Observations = len(plan.Operations), len(seen)
	for _, at := range join.Of {
		if at >= 0 {
			r.Joined++
		}
	}
	if c.output != "" {
		file := atomicfile.File{Path: c.output, Write: fit.Rules.Write}
		if err := c.writeFiles(ctx, file); err != nil {
			return err
		}
	}
	if c.json {
		return jsonform.Document(c.env.out, r)
	}
	return r.text(c.env.out, c.all)
}

// source opens the model, or the program that the MIL text of the analytics is.
func (c *ratesCommand) source(path string) (*frontend.Model, error) {
	if c.model != "" {
		return c.open(c.env, c.model)
	}
	text, file, err := computeplan.Text(path, c.stdin)
	if err != nil {
		return nil, err
	}
	if !computeplan.IsAnalytics(text) {
		return nil, usagef("coreml rates: rates are work over time, and the dump has no work; name its model with " +
			"--model MODEL")
	}
	if text, err = computeplan.ModelText(file, text); err != nil {
		return nil, err
	}
	return frontend.Open(file, frontend.Options{Text: text, WeightsDir: c.weights, AssumeWeights: true, Stdin: c.stdin})
}

// observations are the operations of the plan that are in the forecast and have estimates.
func observations(plan *computeplan.Plan, p *coreml.Plan, join *computeplan.Join) (seen []coreml.Observation) {
	for i, at := range join.Of {
		if at < 0 || len(plan.Operations[at].Estimates) == 0 {
			continue
		}
		seen = append(seen, coreml.Observation{Row: &p.Rows[i], MS: plandiff.Times(&plan.Operations[at])})
	}
	return seen
}

// describe names the rules and takes from the dump what it says beside estimates.
func (c *ratesCommand) describe(r, base *coreml.Rules, plan *computeplan.Plan, path string) {
	name := strings.TrimSuffix(filepath.Base(c.output), filepath.Ext(c.output))
	if c.output == "" {
		name = "fitted"
	}
	r.Name = cmp.Or(c.name, name)
	r.Chip, r.System = cmp.Or(c.chip, plan.Machine, "unknown"), cmp.Or(c.system, plan.System, "unknown")
	r.Sources = []string{fmt.Sprintf("fitted to %s, %s", filepath.Base(path), plan.Form)}
	costs := map[[2]string]float64{}
	for _, x := range plan.Crossings {
		costs[[2]string{x.From, x.To}] = x.Ms
	}
	r.Changes = slices.Clone(r.Changes)
	from := 0
	for i := range r.Changes {
		x := &r.Changes[i]
		if ms, ok := costs[[2]string{backendOf(x.From), backendOf(x.To)}]; ok {
			x.MS = ms
			from++
		}
	}
	if from == 0 {
		r.Sources = append(r.Sources, "costs of changes, limits and refusals: as in "+base.Name)
	} else {
		r.Sources = append(r.Sources, "limits and refusals: as in "+base.Name)
	}
}

// backendOf returns the backend of a place; the caller is on the CPU's side.
func backendOf(p coreml.Place) string {
	if p == coreml.Caller {
		return coreml.BNNS.String()
	}
	return p.String()
}

// document puts a fit into the form of the output.
func (c *ratesCommand) document(fit *coreml.Fit) *ratesJSON {
	r := &ratesJSON{
		Rules:     fit.Rules.Name,
		Chip:      fit.Rules.Chip,
		System:    fit.Rules.System,
		Rates:     []rateJSON{},
		Unfitted:  []unfittedJSON{},
		Base:      []string{},
		Residuals: []residualJSON{},
	}
	fitted := map[string]bool{}
	for _, g := range fit.Groups {
		x := rateJSON{
			Operation: g.Rate.Operation,
			When:      g.Rate.When.String(),
			Estimates: g.Count,
			Times:     map[string]string{},
			Worst:     map[string]float64{},
		}
		fitted[x.Operation] = true
		for b := range coreml.NumBackends {
			if g.Rate.Times[b] != nil {
				x.Times[b.String()] = g.Rate.Times[b].String()
			}
			if !math.IsNaN(g.Worst[b]) {
				x.Worst[b.String()] = g.Worst[b]
			}
		}
		r.Rates = append(r.Rates, x)
	}
	for _, u := range fit.Unfitted {
		x := unfittedJSON{Operation: u.Operation, Estimates: u.Count, Why: u.Why}
		if !math.IsNaN(u.Worst) {
			x.Worst = &u.Worst
		}
		fitted[u.Operation] = true
		r.Unfitted = append(r.Unfitted, x)
	}
	for _, x := range fit.Rules.Rates {
		if !fitted[x.Operation] {
			fitted[x.Operation] = true
			r.Base = append(r.Base, x.Operation)
		}
	}
	for _, s := range fit.Residuals {
		r.Residuals = append(r.Residuals, residualJSON{
			Operation: s.Row.Operator(),
			Name:      s.Row.Name,
			Line:      s.Row.Pos.Line,
			Backends:  plandiff.Estimates(s.MS, s.Fitted),
		})
	}
	return r
}

// shownResiduals is the number of residuals that are printed without --all, the largest.
const shownResiduals = 5

// leastError is the smallest relative error that is printed.
const leastError = 1e-4

// text writes the rates, what could not be fitted, and the residuals.
func (r *ratesJSON) text(w io.Writer, all bool) error {
	fmt.Fprintf(w, "%s beside %s: %s in the dump, %d in the model too, %d with estimates\n", r.Plan, r.Model,
		diag.Count(r.Operations, "operation", "operations"), r.Joined, r.Observations)
	fmt.Fprintf(w, "rules %s, chip %s, system %s: %s fitted, %s not fitted, %s as in the base\n\n", r.Rules, r.Chip,
		r.System, diag.Count(len(r.Rates), "rate", "rates"), diag.Count(len(r.Unfitted), "operation", "operations"),
		diag.Count(len(r.Base), "operation", "operations"))
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(tw, "operation\twhen\testimates")
	for b := range coreml.NumBackends {
		fmt.Fprintf(tw, "\t%s, 10^9/s", b)
	}
	fmt.Fprintln(tw, "\twithin")
	for _, x := range r.Rates {
		fmt.Fprintf(tw, "%s\t%s\t%d", x.Operation, x.When, x.Estimates)
		worst := 0.0
		for b := range coreml.NumBackends {
			worst = max(worst, x.Worst[b.String()])
			fmt.Fprintf(tw, "\t%s", cmp.Or(x.Times[b.String()], "-"))
		}
		fmt.Fprintf(tw, "\t%.2g %%\n", 100*max(worst, leastError))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, u := range r.Unfitted {
		fmt.Fprintf(w, "not fitted: %s, %s: %s", u.Operation, diag.Count(u.Estimates, "estimate", "estimates"), u.Why)
		if u.Worst != nil {
			fmt.Fprintf(w, "; the base's by up to %.3g %%", 100**u.Worst)
		}
		fmt.Fprintln(w)
	}
	if len(r.Base) > 0 {
		fmt.Fprintf(w, "as in the base: %s\n", strings.Join(r.Base, ", "))
	}
	return r.residualText(w, all)
}

// residualText writes the residuals: of every operation in program order, or the largest.
func (r *ratesJSON) residualText(w io.Writer, all bool) error {
	rows := slices.Clone(r.Residuals)
	title := "residuals, dump over fit"
	if !all {
		slices.SortStableFunc(rows, func(a, b residualJSON) int { return cmp.Compare(b.far(), a.far()) })
		rows = rows[:min(len(rows), shownResiduals)]
		title = "largest " + title
	}
	fmt.Fprintf(w, "\n%s\n", title)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, x := range rows {
		fmt.Fprintf(tw, "  %d\t%s\t%s\t", x.Line, x.Operation, x.Name)
		for _, e := range x.Backends {
			fmt.Fprintf(tw, "%s %.5f\t", e.Backend, e.Ratio)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// far is how far the worst estimate is off.
func (x *residualJSON) far() (worst float64) {
	for _, e := range x.Backends {
		worst = max(worst, math.Abs(math.Log(e.Ratio)))
	}
	return worst
}
