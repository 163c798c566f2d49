package report

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
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
