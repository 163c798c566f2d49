package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// cpuGroup is the operations of one name that are on the CPU for one reason.
type cpuGroup struct {
	Op, Why string
	Verdict string
	Rewrite string
	Count   int
	MACs    int64
	Line    int32 // of the first
}

// groupOps groups the operations for which key reports true by their keys, in the order of each group's first.
func groupOps[K comparable](r *compile.Report, key func(o *compile.OpReport) (K, bool)) [][]*compile.OpReport {
	at := map[K]int{}
	var out [][]*compile.OpReport
	for i := range r.Ops {
		o := &r.Ops[i]
		k, ok := key(o)
		if !ok {
			continue
		}
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			out = append(out, nil)
		}
		out[j] = append(out[j], o)
	}
	return out
}

// Kind is the operations of one name on one unit.
type Kind struct {
	Op    string    `json:"op"`
	Unit  string    `json:"unit"`
	Count int       `json:"count"`
	Time  cost.Time `json:"us"`
	Bound string    `json:"bound,omitempty"` // the term with most of the time, "" without an estimate
	// Slowest is the operation of them that takes most time, the first of several.
	Slowest *compile.OpReport `json:"-"`
}

// Kinds adds up the operations by name and unit, those with most time first. Transfers are none of them.
func Kinds(r *compile.Report) []Kind {
	type key struct{ op, unit string }
	out := []Kind{}
	for _, ops := range groupOps(r, func(o *compile.OpReport) (key, bool) {
		return key{o.Op, o.Unit}, o.Unit != ir.Transfer.String()
	}) {
		k := Kind{Op: ops[0].Op, Unit: ops[0].Unit, Count: len(ops)}
		var terms cost.Split
		for _, o := range ops {
			k.Time += o.Time()
			if k.Slowest == nil || o.Time() > k.Slowest.Time() {
				k.Slowest = o
			}
			if o.Estimate != nil {
				terms.Add(o.Estimate.Terms)
			}
		}
		if terms.Total() > 0 {
			k.Bound = terms.Binding().String()
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b Kind) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// Cause is the operations that one rule keeps on the CPU.
type Cause struct {
	Verdict string // "" if the target does not refuse them
	Rule    string
	Ops     []*compile.OpReport // in program order
	Time    cost.Time
}

// Causes groups the operations on the CPU by rule and verdict, those with most time first.
func Causes(r *compile.Report) []Cause {
	type key struct{ verdict, rule string }
	keyOf := func(o *compile.OpReport) key {
		if no := o.Refusal; no != nil {
			return key{string(no.Verdict), no.Rule}
		}
		return key{rule: o.Rule}
	}
	var out []Cause
	for _, ops := range groupOps(r, func(o *compile.OpReport) (key, bool) {
		return keyOf(o), o.Unit == ir.CPU.String()
	}) {
		k := keyOf(ops[0])
		g := Cause{Verdict: k.verdict, Rule: k.rule, Ops: ops}
		for _, o := range ops {
			g.Time += o.CPU
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b Cause) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// First returns the first operation.
func (g *Cause) First() *compile.OpReport { return g.Ops[0] }

// Names lists the names of the operations, the most frequent first, with their numbers.
func (g *Cause) Names() (names []string, counts map[string]int) {
	counts = map[string]int{}
	for _, o := range g.Ops {
		if counts[o.Op]++; counts[o.Op] == 1 {
			names = append(names, o.Op)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return names, counts
}

// Counted lists the names with their numbers, as far as an answer has space.
func (g *Cause) Counted() []string {
	names, counts := g.Names()
	var out []string
	for i, n := range names {
		if i == answerKinds {
			return append(out, diag.Count(len(names)-i, "other kind", "other kinds"))
		}
		if c := counts[n]; c > 1 {
			n += fmt.Sprintf(" x %d", c)
		}
		out = append(out, n)
	}
	return out
}

// cpuGroups lists the operations on the CPU: most multiply-accumulates first, then most operations, then in program
// order.
func cpuGroups(r *compile.Report) []cpuGroup {
	type key struct{ op, why string }
	var out []cpuGroup
	for _, ops := range groupOps(r, func(o *compile.OpReport) (key, bool) {
		return key{o.Op, o.Reason}, o.Unit == ir.CPU.String()
	}) {
		first := ops[0]
		g := cpuGroup{Op: first.Op, Why: first.Reason, Line: first.Line, Count: len(ops)}
		if no := first.Refusal; no != nil {
			g.Rewrite, g.Verdict = no.Rewrite, no.Phrase()
		}
		for _, o := range ops {
			g.MACs += o.MACs
		}
		out = append(out, g)
	}
	slices.SortStableFunc(out, func(a, b cpuGroup) int {
		return cmp.Or(cmp.Compare(b.MACs, a.MACs), cmp.Compare(b.Count, a.Count))
	})
	return out
}

// biggest lists up to n operations: most time first or, without estimates, most multiply-accumulates.
func biggest(r *compile.Report, n int) []Layer {
	var out []Layer
	for _, l := range Layers(r) {
		if l.Kind == KindOp && (l.Time > 0 || l.MACs > 0) {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b Layer) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.MACs, a.MACs))
	})
	return out[:min(n, len(out))]
}
