package coreml

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Move is a change of the program that would change the answer.
type Move struct {
	What   string  `json:"what"`               // such as "without the 2 cumsum operations, line 12"
	Engine int     `json:"engine_ops"`         // operations that would then run on the engine
	Saves  float64 `json:"saves_us,omitempty"` // estimated time that it saves, without the operations' own
}

// String returns a line of text.
func (m Move) String() string {
	s := fmt.Sprintf("%s: %s on the engine", m.What, diag.Count(m.Engine, "operation", "operations"))
	if m.Saves > 0 {
		s += fmt.Sprintf(", and %.3f ms less besides their own time", m.Saves/1e3)
	}
	return s
}

// maxMoves bounds the operations whose absence is tried, by what each would bring.
const maxMoves = 8

// movers lists what would move the answer: operations that the engine refuses, and more or less work.
func (fc *forecaster) movers() []Move {
	if !fc.modelled.Has(Engine) {
		return nil
	}
	return append(fc.withoutRefused(), fc.work()...)
}

// withoutRefused tries the program without the operations that the engine refuses, one kind after the other.
func (fc *forecaster) withoutRefused() (out []Move) {
	type group struct {
		kind  string
		steps []int
	}
	c := fc.program
	var groups []*group
	by := map[string]*group{}
	for i, r := range c.rows {
		row := &fc.plan.Rows[r]
		if row.Supported.Has(Engine) || row.Inserted != "" {
			continue
		}
		k := row.Operator()
		if by[k] == nil {
			by[k] = &group{kind: k}
			groups = append(groups, by[k])
		}
		by[k].steps = append(by[k].steps, i)
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(len(b.steps), len(a.steps)) })
	_, now := fc.changes(c.way)
	for _, g := range groups[:min(len(groups), maxMoves)] {
		steps := slices.Clone(c.steps)
		own := Cost(0)
		for _, i := range g.steps {
			steps[i] = step{}
			own = own.plus(c.steps[i][c.way.chosen[i]])
		}
		w := cheapest(steps, &fc.moves)
		_, engine := fc.changes(w)
		for _, i := range g.steps {
			if w.chosen[i] == Engine {
				engine--
			}
		}
		saves := (c.way.best - w.best - own).MS()
		if worth := fc.plan.Gain.Visit / 2; engine <= now && saves < worth {
			continue
		}
		first := fc.plan.Rows[c.rows[g.steps[0]]]
		what := fmt.Sprintf("without %s %q", g.kind, first.Name)
		if n := len(g.steps); n > 1 {
			what = fmt.Sprintf("without the %d %s operations", n, g.kind)
		}
		out = append(out, Move{What: what + line(&first), Engine: engine, Saves: math.Round(saves*1e6) / 1e3})
	}
	slices.SortStableFunc(out, func(a, b Move) int {
		return cmp.Or(cmp.Compare(b.Engine, a.Engine), cmp.Compare(b.Saves, a.Saves))
	})
	return out
}

// line returns the line of a row, as text to append, if it is known.
func line(r *Row) string {
	if !r.Pos.IsValid() {
		return ""
	}
	return fmt.Sprintf(", line %d", r.Pos.Line)
}

// maxCopies is the number of operations more or less up to which work looks.
const maxCopies = 16

// work says how many copies more of the operation that gains most bring operations to the engine; or without how many
// of those that gain most none is there.
func (fc *forecaster) work() []Move {
	c := fc.program
	gains := make([]int, 0, len(c.steps)) // steps that are faster on the engine, the largest gain first
	gain := func(i int) Cost { return c.steps[i].gain() }
	for i := range c.steps {
		if gain(i) > 0 {
			gains = append(gains, i)
		}
	}
	if len(gains) == 0 {
		return nil
	}
	slices.SortStableFunc(gains, func(a, b int) int { return cmp.Compare(gain(b), gain(a)) })
	most := gains[0]
	row := &fc.plan.Rows[c.rows[most]]
	if margin := fc.plan.Gain.Margin(); math.Abs(margin) > maxCopies*gain(most).MS() {
		return nil
	}
	if _, now := fc.changes(c.way); now > 0 {
		return fc.less(gains)
	}
	steps := slices.Clone(c.steps)
	for n := 1; n <= maxCopies; n++ {
		for b := range NumBackends {
			steps[most][b] = steps[most][b].plus(c.steps[most][b])
		}
		if _, engine := fc.changes(cheapest(steps, &fc.moves)); engine > 0 {
			engine += n // the copies are there too
			return []Move{{What: fmt.Sprintf("with %s like %s, which saves %.3f ms", diag.Count(n,
				"more operation", "more operations"), row.place(), gain(most).MS()), Engine: engine}}
		}
	}
	return nil
}

// less takes the operations that gain most away until nothing is on the engine.
func (fc *forecaster) less(gains []int) []Move {
	steps := slices.Clone(fc.program.steps)
	for n, i := range gains[:min(maxCopies, len(gains))] {
		steps[i] = step{}
		w := cheapest(steps, &fc.moves)
		if slices.ContainsFunc(w.chosen, func(b Backend) bool { return b == Engine }) {
			continue
		}
		first := fc.plan.Rows[fc.program.rows[gains[0]]]
		what := "without " + first.place()
		if n > 0 {
			what = fmt.Sprintf("without the %d operations that save most, such as %s", n+1, first.place())
		}
		return []Move{{What: what, Engine: 0}}
	}
	return nil
}
