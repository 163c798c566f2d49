package coreml

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// edge is another rate that may apply to a step.
type edge struct {
	at       int // index of the step
	from, to *Rate
	step     step // with the other rate
}

// Near is an answer that changes within an interval that is not known.
type Near struct {
	What    string `json:"what"`        // the operations, and the interval
	Changed int    `json:"changed_ops"` // operations that would run on another device
	Engine  int    `json:"engine_ops"`  // operations that would then run on the engine
}

// String returns a line of text.
func (n Near) String() string {
	if n.Changed == 0 {
		return n.What
	}
	return fmt.Sprintf("%s; then %s, and %d on the engine", n.What,
		diag.Count(n.Changed, "operation runs elsewhere", "operations run elsewhere"), n.Engine)
}

// maxNear bounds the intervals that are tried: rules have a few.
const maxNear = 32

// near tries, for each two rates between which the edge is not known, the other one on all operations in the interval.
// Then it reports a saving for which no graph was seen (nearLine).
func (fc *forecaster) near() (out []Near) {
	c := fc.program
	type pair struct{ from, to *Rate }
	by := map[pair][]edge{}
	var order []pair
	for _, e := range c.edges {
		p := pair{e.from, e.to}
		if by[p] == nil {
			order = append(order, p)
		}
		by[p] = append(by[p], e)
	}
	for _, p := range order[:min(len(order), maxNear)] {
		steps := slices.Clone(c.steps)
		for _, e := range by[p] {
			steps[e.at] = e.step
		}
		w := cheapest(steps, &fc.moves)
		n := Near{What: fmt.Sprintf("%s with %s: the rate may be the one for %s",
			diag.Count(len(by[p]), p.to.Operation, p.to.Operation+" operations"), p.to.Maybe, p.to.When)}
		n.Changed, n.Engine = fc.changes(w)
		if n.Changed > 0 {
			out = append(out, n)
		}
	}
	if len(out) == 0 && len(order) > 1 {
		out = fc.nearTogether(len(order))
	}
	return append(out, fc.nearLine()...)
}

// nearTogether tries all intervals at once: all rates that favour the CPU, then all that favour the engine.
func (fc *forecaster) nearTogether(intervals int) []Near {
	c := fc.program
	for _, engine := range []bool{false, true} {
		steps := slices.Clone(c.steps)
		for _, e := range c.edges {
			if d := e.step.gain() - steps[e.at].gain(); engine && d > 0 || !engine && d < 0 {
				steps[e.at] = e.step
			}
		}
		n := Near{What: fmt.Sprintf("operations in %d intervals whose edges are not known, all at once", intervals)}
		if n.Changed, n.Engine = fc.changes(cheapest(steps, &fc.moves)); n.Changed > 0 {
			return []Near{n}
		}
	}
	return nil
}

// changes compares another way with the plan: the operations that it runs on another device, ties aside, and those that
// it runs on the engine.
func (fc *forecaster) changes(w *way) (changed, engine int) {
	for i, r := range fc.program.rows {
		row := &fc.plan.Rows[r]
		d := w.chosen[i].Device()
		if row.Inserted == "" && d == NeuralEngine {
			engine++
		}
		if d != row.Chosen.Device() && !slices.Contains(row.Ties, d) {
			changed++
		}
	}
	return changed, engine
}

// nearLine reports a saving between the largest that was seen to stay on the CPU and the smallest that was seen to go.
func (fc *forecaster) nearLine() []Near {
	g := fc.plan.Gain
	low, high := fc.plan.Rules.Line[0]-g.Visit, fc.plan.Rules.Line[1]-g.Visit
	net := g.CPU - g.Engine
	if !fc.modelled.Has(Engine) || !g.Possible() || net < low || net > high {
		return nil
	}
	n := Near{What: fmt.Sprintf("the operations save %.3f ms on the engine: graphs that save %.3f were seen to stay "+
		"on the CPU, and %.3f to go", net+g.Visit, fc.plan.Rules.Line[0], fc.plan.Rules.Line[1])}
	if net > 0 {
		n.Changed, n.Engine = fc.changes(cheapest(without(fc.program.steps, Engine), &fc.moves))
	}
	return []Near{n}
}
