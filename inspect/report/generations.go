package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// generation is a model on one generation of chips.
type generation struct {
	Chip     string `json:"chip"`                     // the smallest of its generation
	Target   string `json:"target"`                   // whose programs it runs
	Programs bool   `json:"programs"`                 // whether zinc writes programs for the target
	Recorded string `json:"recorded_kinds,omitempty"` // what recorded programs of its descriptor version compute
	// EngineOps of Ops operations are in forms that the engine accepts by its limits.
	EngineOps         int          `json:"engine_ops"`
	Ops               int          `json:"ops"`                      // operations on the engine and on the CPU
	EngineOpsPercent  float64      `json:"engine_ops_percent"`       // share of the operations on the engine
	EngineMACsPercent float64      `json:"engine_macs_percent"`      // 100 if there are none
	Call              cost.Time    `json:"call_us,omitempty"`        // estimate of a call, absent without one
	Band              *cost.Band   `json:"call_band,omitempty"`      // what a call is expected to be within
	Grade             target.Grade `json:"estimate_grade,omitempty"` // how the estimate is known
	Known             string       `json:"estimate_known"`           // from what, or why there is none
	CPU               []fallback   `json:"cpu"`                      // what is on the CPU, most operations first
	// Attested of Tasks tasks are of kinds that recorded programs of the target confirm.
	Attested int `json:"attested_tasks"`
	Tasks    int `json:"tasks"` // tasks of the engine, 0 without programs
}

// fallback is what one rule keeps on the CPU.
type fallback struct {
	Rule    string         `json:"rule"`    // rule of placement
	Verdict target.Verdict `json:"verdict"` // whether the hardware cannot, zinc cannot yet, or it is not worth it
	Ops     []string       `json:"ops"`     // kinds of operations, in order
	Count   int            `json:"count"`   // number of operations
}

// generations returns the model on the smallest chip of each generation. results are its placements on all targets.
func (c *checkCommand) generations(ctx context.Context, path string, results []targetResult) ([]generation, error) {
	var out []generation
	for _, chip := range target.Generations() {
		i := slices.IndexFunc(results, func(r targetResult) bool { return r.Target == chip.Target })
		if i < 0 {
			continue
		}
		g, err := c.generation(ctx, path, chip, results[i].Report)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func (c *checkCommand) generation(ctx context.Context, path string, chip target.Chip, r *compile.Report) (generation,
	error) {
	tab, err := target.Lookup(chip.Target)
	if err != nil {
		return generation{}, err
	}
	g := generation{
		Chip:              chip.Name,
		Target:            tab.Name,
		Programs:          compiles(tab),
		Recorded:          tab.Recorded(),
		EngineOps:         r.EngineOps,
		Ops:               r.EngineOps + r.CPUOps,
		EngineOpsPercent:  report.Percent(int64(r.EngineOps), int64(r.CPUOps)),
		EngineMACsPercent: report.Percent(r.EngineMACs, r.CPUMACs),
		CPU:               fallbacks(r),
		Attested:          r.Attested,
		Tasks:             r.Tasks,
	}
	timed := r
	if timed.Estimate == nil {
		if timed, err = c.borrowed(ctx, path, tab); err != nil {
			g.Known = "no estimate: " + err.Error()
			return g, ctx.Err()
		}
	}
	if timed.Estimate == nil {
		g.Known = "no estimate: no container has room for the program"
		return g, nil
	}
	g.Call, g.Band = timed.CallTime(), timed.Band
	g.Grade, g.Known = estimateGrade(tab)
	return g, nil
}

// borrowed estimates the model with the limits and rates of a target that zinc writes no programs for, from tasks of
// the oldest target that it writes programs for.
func (c *checkCommand) borrowed(ctx context.Context, path string, tab *target.Table) (*compile.Report, error) {
	f := c.compileFlags
	f.assume, f.target = true, tab.Name
	m, err := f.open(c.silent(), path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	o, err := f.options(c.silent(), m.Path, nil)
	if err != nil {
		return nil, err
	}
	writes, err := target.Lookup(target.Compiled()[0])
	if err != nil {
		return nil, err
	}
	t := *tab
	t.TD, o.Target, o.Progress = writes.TD, &t, nil
	var r *compile.Report
	err = compile.Compile(ctx, m.Program, o, compile.Sink{Estimate: compile.To(&r)})
	return r, err
}

// estimateGrade returns how an estimate for a target is known.
func estimateGrade(tab *target.Table) (target.Grade, string) {
	rates := cost.RatesOf(tab)
	own := rates.Target() == tab.Name
	switch {
	case own && compiles(tab):
		return target.Measured, "its own tasks, at rates fitted to times of the " + rates.Chip
	case compiles(tab):
		return target.Inferred, "its own tasks, at rates fitted to times of the " + rates.Chip
	case own:
		return target.Published, "tasks of another target, at rates fitted to times of the " + rates.Chip
	}
	return target.Inferred, "tasks of another target, at rates fitted to times of the " + rates.Chip
}

// fallbacks returns what each rule keeps on the CPU.
func fallbacks(r *compile.Report) []fallback {
	by := map[string]*fallback{}
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Unit != ir.CPU.String() {
			continue
		}
		no := cmp.Or(o.Refusal, &compile.RefusalInfo{})
		b := by[no.Rule]
		if b == nil {
			b = &fallback{Rule: no.Rule, Verdict: no.Verdict}
			by[no.Rule] = b
		}
		b.Count++
		if !slices.Contains(b.Ops, o.Op) {
			b.Ops = append(b.Ops, o.Op)
		}
	}
	out := []fallback{}
	for _, rule := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[rule].Ops)
		out = append(out, *by[rule])
	}
	slices.SortStableFunc(out, func(a, b fallback) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// shownFallbacks is the number of rules that a line names.
const shownFallbacks = 2

// text is what is on the CPU, in one line.
func (g *generation) fallbackText() string {
	if len(g.CPU) == 0 {
		return "nothing"
	}
	var parts []string
	for _, f := range g.CPU[:min(shownFallbacks, len(g.CPU))] {
		ops := strings.Join(f.Ops[:min(3, len(f.Ops))], ", ")
		if len(f.Ops) > 3 {
			ops += ", ..."
		}
		parts = append(parts, fmt.Sprintf("%d: %s (%s)", f.Count, ops, cmp.Or(f.Rule, "other")))
	}
	if n := len(g.CPU) - shownFallbacks; n > 0 {
		parts = append(parts, diag.Count(n, "more rule", "more rules"))
	}
	return strings.Join(parts, "; ")
}

// programText says whether zinc writes programs for the generation.
func (g *generation) programText() string {
	switch {
	case g.Programs && g.Tasks > 0:
		return fmt.Sprintf("written; %d of %d tasks of recorded kinds", g.Attested, g.Tasks)
	case g.Programs:
		return "written"
	case g.Recorded == "":
		return "no recorded program"
	}
	return "zinc cannot yet"
}

// writeGenerations writes the table of generations.
func writeGenerations(w io.Writer, model string, gs []generation) error {
	fmt.Fprintf(w, "%s on each generation\n\n", model)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "chip\ttarget\tengine accepts\tof the products\ta call\testimate\ton the CPU\tprograms")
	for i := range gs {
		g := &gs[i]
		call, grade := "-", "-"
		if g.Grade != "" {
			call, grade = g.Call.Short(), string(g.Grade)
		}
		fmt.Fprintf(tw, "%s\t%s\t%d of %d\t%.3g %%\t%s\t%s\t%s\t%s\n", g.Chip, g.Target, g.EngineOps, g.Ops,
			g.EngineMACsPercent, call, grade, g.fallbackText(), g.programText())
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	of := map[string][]string{} // chips by what is said of them
	var lines []string
	say := func(line string, g *generation) {
		if of[line] == nil {
			lines = append(lines, line)
		}
		of[line] = append(of[line], g.Chip)
	}
	for i := range gs {
		g := &gs[i]
		say(strings.TrimPrefix(string(g.Grade)+": ", ": ")+g.Known, g)
		if !g.Programs {
			say("programs recorded from Apple's compiler: "+cmp.Or(g.Recorded, "none"), g)
		}
	}
	for _, line := range lines {
		fmt.Fprintf(w, "%s: %s\n", strings.Join(of[line], ", "), line)
	}
	_, err := fmt.Fprintln(w)
	return err
}
