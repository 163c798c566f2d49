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
	What   string // such as "without cumsum (2 operations, first on line 12)"
	Engine int    // the program's operations that would then run on the engine
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

// withoutRefused tries the program as if the engine ran the operations that it refuses, one kind after the other.
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
		for _, i := range g.steps {
			steps[i][Engine] = c.would[i]
		}
		_, engine := fc.changes(cheapest(steps, &fc.moves))
		if engine-now > len(g.steps) {
			first := fc.plan.Rows[c.rows[g.steps[0]]]
			what := fmt.Sprintf("without %s %q", g.kind, first.Name)
			if n := len(g.steps); n > 1 {
				what = fmt.Sprintf("without the %d %s operations", n, g.kind)
			}
			out = append(out, Move{What: what + line(&first), Engine: engine - len(g.steps)})
		}
	}
	slices.SortStableFunc(out, func(a, b Move) int { return cmp.Compare(b.Engine, a.Engine) })
	return out
}

// line returns the line of a row, as text to append, if it is known.
func line(r *Row) string {
	if !r.Pos.IsValid() {
		return ""
	}
	return fmt.Sprintf(", line %d", r.Pos.Line)
}

// work says how much more work brings the program to the engine, or how much less takes it off, if that is at most
// maxCopies copies of the operation that gains most.
func (fc *forecaster) work() []Move {
	g := fc.plan.Gain
	c := fc.program
	best, most := -1, Cost(0)
	for i, s := range c.steps {
		if s[Engine] == never {
			continue
		}
		if d := min(s[ClassicCPU], s[BNNS]) - s[Engine]; d > most {
			best, most = i, d
		}
	}
	if best < 0 || !g.possible() {
		return nil
	}
	const maxCopies = 16
	row := &fc.plan.Rows[c.rows[best]]
	each := most.MS()
	n := int(math.Floor(math.Abs(g.Margin())/each)) + 1
	if n > maxCopies {
		return nil
	}
	like := fmt.Sprintf("like %s %q, which saves %.3f ms%s", row.Operator(), row.Name, each, line(row))
	if g.Margin() > 0 {
		return []Move{{What: fmt.Sprintf("%s less %s", diag.Count(n, "operation", "operations"), like)}}
	}
	return []Move{{What: fmt.Sprintf("%s more %s", diag.Count(n, "operation", "operations"), like), Engine: -1}}
}
