package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/target"
)

// budgetRule is the SARIF rule of a budget.
func budgetRule(id string) string { return "budget-" + id }

// Review returns the report as a run of findings: one of the given level for each
// operation on the CPU, and one for each exceeded budget. tool is the command that
// created the report, as in "zinc check".
func Review(d *Document, tool, level string) sarif.Run {
	run := sarif.Run{
		Tool: "zinc", Version: compile.Version, ID: tool + "/" + d.Target + "/",
		Properties: map[string]any{
			"target": d.Target, "precision": d.Precision, "function": d.Function,
			"engineOpsPercent":  Percent(int64(d.EngineOps), int64(d.CPUOps)),
			"engineMacsPercent": Percent(d.EngineMACs, d.CPUMACs), "dispatches": d.Dispatches,
		},
	}
	if e := d.Report.Estimate; e != nil {
		run.Properties["estimateUs"], run.Properties["estimateError"] = e.Time, e.Known
	}
	for _, rule := range target.Rules {
		run.Rules = append(run.Rules, sarif.Rule{ID: rule.ID, Doc: "On the engine " + rule.Doc + ".", Help: rule.Hint})
	}
	for i := range d.Ops {
		o := &d.Ops[i]
		no := o.Refusal
		if no == nil {
			continue
		}
		msg := fmt.Sprintf("%s %q runs on the CPU: %s (%s).", o.Op, o.Name, o.Reason, no.Verdict)
		props := map[string]any{
			"operation": o.Op,
			"what":      no.What,
			"value":     no.Value,
			"limit":     no.Limit,
			"macs":      o.MACs,
			"verdict":   no.Verdict,
		}
		if no.Native != "" {
			props["native"] = no.Native
		}
		if no.Source != "" {
			props["source"] = no.Source
		}
		if no.Rewrite != "" {
			msg += " Rewrite: " + no.Rewrite + "."
			props["rewrite"] = no.Rewrite
		}
		if d.Explain != nil {
			props["explain"] = d.Explain(o)
		}
		run.Findings = append(run.Findings, sarif.Finding{
			Rule: no.Rule, Level: level, Message: msg, File: d.Model, Line: int(o.Line), Col: int(o.Col), Name: o.Name,
			Properties: props,
		})
	}
	AddViolations(&run, d.Model, d.Violations)
	return run
}

// AddViolations adds an error for each exceeded budget, at its largest contributor, and
// the rules of those budgets.
func AddViolations(run *sarif.Run, model string, vs []Violation) {
	docs := map[string]string{}
	for _, b := range Budgets {
		docs[b.ID] = b.Doc
	}
	known := map[string]bool{}
	for i := range vs {
		v := &vs[i]
		id := budgetRule(v.Budget)
		if !known[id] {
			known[id] = true
			run.Rules = append(run.Rules, sarif.Rule{
				ID:  id,
				Doc: "--" + v.Budget + ": " + strings.ReplaceAll(docs[v.Budget], "`", "") + ".",
			})
		}
		f := sarif.Finding{
			Rule: id, Level: sarif.Error, Message: v.String() + ".", File: model,
			Properties: map[string]any{"value": v.Value, "limit": v.Limit, "unit": v.Unit},
		}
		if len(v.Contributors) > 0 {
			f.Properties["contributors"] = v.Contributors
		}
		for _, c := range v.Contributors {
			if c.Line > 0 {
				f.Line, f.Col, f.Name = c.Line, c.Col, c.Name
				break
			}
		}
		run.Findings = append(run.Findings, f)
	}
}

func writeSARIF(w io.Writer, d *Document) error {
	return sarif.Write(w, Review(d, "zinc", sarif.Note))
}
