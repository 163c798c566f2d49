package report

import (
	"bytes"
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
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Generation is a model on one generation of chips.
type Generation struct {
	Chip     string `json:"chip"`                     // the smallest of its generation
	Target   string `json:"target"`                   // whose programs it runs
	Programs bool   `json:"programs"`                 // whether zinc writes programs for the target
	Recorded string `json:"recorded_kinds,omitempty"` // what recorded programs of its descriptor version compute
	// Written of EngineOps operations are in forms that zinc writes tasks of.
	Written int `json:"written_ops"`
	// EngineOps of Ops operations are in forms that the engine accepts by its limits.
	EngineOps         int          `json:"engine_ops"`
	Ops               int          `json:"ops"`                      // operations on the engine and on the CPU
	EngineOpsPercent  float64      `json:"engine_ops_percent"`       // share of the operations on the engine
	EngineMACsPercent float64      `json:"engine_macs_percent"`      // 100 if there are none
	Call              cost.Time    `json:"call_us,omitempty"`        // estimate of a call, absent without one
	Band              *cost.Band   `json:"call_band,omitempty"`      // what a call is expected to be within
	Grade             target.Grade `json:"estimate_grade,omitempty"` // how the estimate is known
	Known             string       `json:"estimate_known"`           // from what, or why there is none
	CPU               []Fallback   `json:"cpu"`                      // what is on the CPU, most operations first
	// Attested of Tasks tasks are of kinds that recorded programs of the target confirm.
	Attested int `json:"attested_tasks"`
	Tasks    int `json:"tasks"` // tasks of the engine, 0 without programs
}

// Fallback is what one rule keeps on the CPU.
type Fallback struct {
	Rule    string         `json:"rule"`    // rule of placement
	Verdict target.Verdict `json:"verdict"` // whether the hardware cannot, zinc cannot yet, or it is not worth it
	Ops     []string       `json:"ops"`     // kinds of operations, in order
	Count   int            `json:"count"`   // number of operations
}

// Generations returns a model on the smallest chip of each generation. reported returns its report for a target: an
// estimate if the table has a descriptor version, otherwise the placement alone. An error of an estimate becomes part
// of the answer.
func Generations(ctx context.Context, reported func(t *target.Table) (*compile.Report, error)) ([]Generation, error) {
	var out []Generation
	for _, chip := range target.Generations() {
		tab, err := target.Lookup(chip.Target)
		if err != nil {
			return nil, err
		}
		g, r, err := placed(chip, tab, reported)
		if err != nil {
			return nil, err
		}
		if r.Estimate == nil {
			if r, err = reported(tab.Borrowing()); err != nil && ctx.Err() != nil {
				return nil, err
			}
		}
		switch {
		case err != nil:
			g.Known = "no estimate: " + err.Error()
		case r.Estimate == nil:
			g.Known = "no estimate: no container has room for the program"
		default:
			g.Call, g.Band = r.CallTime(), r.Band
			g.Grade, g.Known = estimateGrade(tab)
		}
		out = append(out, g)
	}
	return out, nil
}

// placed returns the placement of a model on a chip and its report, which has an estimate if zinc writes the whole
// program. Where zinc writes some operations alone, the placement is that by the target's limits.
func placed(chip target.Chip, tab *target.Table, reported func(t *target.Table) (*compile.Report, error)) (Generation,
	*compile.Report, error) {
	limits := tab.ByLimits()
	r, err := reported(limits)
	if err != nil {
		return Generation{}, nil, err
	}
	g := generation(chip, tab, r)
	if limits == tab {
		return g, r, nil
	}
	written, err := reported(tab)
	if err == nil {
		g.Written, g.Attested, g.Tasks = written.EngineOps, written.Attested, written.Tasks
	}
	return g, r, err
}

func generation(chip target.Chip, tab *target.Table, r *compile.Report) Generation {
	written := 0
	if tab.Whole() {
		written = r.EngineOps
	}
	return Generation{
		Written:           written,
		Chip:              chip.Name,
		Target:            tab.Name,
		Programs:          tab.TD != 0,
		Recorded:          tab.Recorded(),
		EngineOps:         r.EngineOps,
		Ops:               r.EngineOps + r.CPUOps,
		EngineOpsPercent:  Percent(int64(r.EngineOps), int64(r.CPUOps)),
		EngineMACsPercent: Percent(r.EngineMACs, r.CPUMACs),
		CPU:               fallbacks(r),
		Attested:          r.Attested,
		Tasks:             r.Tasks,
	}
}

// estimateGrade returns how an estimate for a target is known.
func estimateGrade(tab *target.Table) (target.Grade, string) {
	rates := cost.RatesOf(tab)
	own := rates.Target() == tab.Name
	switch {
	case own && tab.Whole():
		return target.Measured, "its own tasks, at rates fitted to times of the " + rates.Chip
	case tab.Whole():
		return target.Inferred, "its own tasks, at rates fitted to times of the " + rates.Chip
	case own:
		return target.Published, "tasks of another target, at rates fitted to times of the " + rates.Chip
	}
	return target.Inferred, "tasks of another target, at rates fitted to times of the " + rates.Chip
}

// fallbacks returns what each rule keeps on the CPU.
func fallbacks(r *compile.Report) []Fallback {
	by := map[string]*Fallback{}
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Unit != ir.CPU.String() {
			continue
		}
		no := cmp.Or(o.Refusal, &compile.RefusalInfo{})
		b := by[no.Rule]
		if b == nil {
			b = &Fallback{Rule: no.Rule, Verdict: no.Verdict}
			by[no.Rule] = b
		}
		b.Count++
		if !slices.Contains(b.Ops, o.Op) {
			b.Ops = append(b.Ops, o.Op)
		}
	}
	out := []Fallback{}
	for _, rule := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[rule].Ops)
		out = append(out, *by[rule])
	}
	slices.SortStableFunc(out, func(a, b Fallback) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// shownFallbacks is the number of rules that a line names.
const shownFallbacks = 2

// text is what is on the CPU, in one line.
func (g *Generation) fallbackText() string {
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
func (g *Generation) programText() string {
	switch {
	case g.Programs && g.Written < g.EngineOps:
		return fmt.Sprintf("written for %d of %d operations", g.Written, g.EngineOps)
	case g.Programs && g.Tasks > 0:
		return fmt.Sprintf("written; %d of %d tasks of recorded kinds", g.Attested, g.Tasks)
	case g.Programs:
		return "written"
	case g.Recorded == "":
		return "no recorded program"
	}
	return "zinc cannot yet"
}

// generationHeads are the heads of the table of generations.
var generationHeads = []string{
	"chip", "target", "engine accepts", "of the products", "a call", "estimate", "on the CPU", "programs",
}

// cells is the row of a generation, with the time as short writes it.
func (g *Generation) cells(short func(cost.Time) string) []string {
	call, grade := "-", "-"
	if g.Grade != "" {
		call, grade = short(g.Call), string(g.Grade)
	}
	return []string{
		g.Chip, g.Target, fmt.Sprintf("%d of %d", g.EngineOps, g.Ops), fmt.Sprintf("%.3g %%", g.EngineMACsPercent),
		call, grade, g.fallbackText(), g.programText(),
	}
}

// GenerationTable is the table of generations as it is shown.
type GenerationTable struct {
	Heads []string   `json:"heads"`
	Rows  [][]string `json:"rows"`  // one a generation
	Notes []string   `json:"notes"` // how the estimates are known
}

// Table returns the table of generations as pages show it, nil for none.
func Table(gs []Generation) *GenerationTable {
	if len(gs) == 0 {
		return nil
	}
	t := &GenerationTable{Heads: generationHeads, Notes: generationNotes(gs)}
	for i := range gs {
		t.Rows = append(t.Rows, gs[i].cells(micro))
	}
	return t
}

// generationNotes says from what the estimates are known and what is recorded, a line for all chips of the same.
func generationNotes(gs []Generation) []string {
	of := map[string][]string{} // chips by what is said of them
	var said []string
	say := func(line string, g *Generation) {
		if of[line] == nil {
			said = append(said, line)
		}
		of[line] = append(of[line], g.Chip)
	}
	for i := range gs {
		g := &gs[i]
		say(strings.TrimPrefix(string(g.Grade)+": ", ": ")+g.Known, g)
		if !g.Programs || g.Written < g.EngineOps {
			say("programs recorded from Apple's compiler: "+cmp.Or(g.Recorded, "none"), g)
		}
	}
	for i, line := range said {
		said[i] = strings.Join(of[line], ", ") + ": " + line
	}
	return said
}

// WriteGenerations writes the table of generations as text.
func WriteGenerations(w io.Writer, model string, gs []Generation) error {
	fmt.Fprintf(w, "%s on each generation\n\n", model)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(generationHeads, "\t"))
	for i := range gs {
		fmt.Fprintln(tw, strings.Join(gs[i].cells(cost.Time.Short), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n\n", strings.Join(generationNotes(gs), "\n"))
	return err
}

// markdownGenerations writes the table of generations for a comment.
func markdownGenerations(b *bytes.Buffer, gs []Generation) {
	if len(gs) == 0 {
		return
	}
	fmt.Fprintf(b, "\n#### On each generation\n\n| %s |\n|%s\n", strings.Join(generationHeads, " | "),
		strings.Repeat(" --- |", len(generationHeads)))
	for i := range gs {
		b.WriteByte('|')
		for _, c := range gs[i].cells(cost.Time.Short) {
			fmt.Fprintf(b, " %s |", md(c))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for _, n := range generationNotes(gs) {
		fmt.Fprintf(b, "- %s\n", md(n))
	}
}
