package report

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
)

// cpuGroup is operations of one kind on the CPU for one reason.
type cpuGroup struct {
	Op, Why string
	Verdict string
	Rewrite string
	Count   int
	MACs    int64
	Line    int32 // of the first
}

// cpuGroups lists the operations on the CPU: most multiply-accumulates first, then most
// operations, then in program order.
func cpuGroups(r *compile.Report) []cpuGroup {
	type key struct{ op, why string }
	at := map[key]int{}
	var out []cpuGroup
	for i := range r.Ops {
		o := &r.Ops[i]
		if o.Unit != ir.CPU.String() {
			continue
		}
		k := key{o.Op, o.Reason}
		j, ok := at[k]
		if !ok {
			j = len(out)
			at[k] = j
			out = append(out, cpuGroup{Op: o.Op, Why: o.Reason, Line: o.Line})
			if o.Refusal != nil {
				out[j].Rewrite, out[j].Verdict = o.Refusal.Rewrite, o.Refusal.Phrase()
			}
		}
		out[j].Count++
		out[j].MACs += o.MACs
	}
	slices.SortStableFunc(out, func(a, b cpuGroup) int {
		if a.MACs != b.MACs {
			return cmp.Compare(b.MACs, a.MACs)
		}
		return cmp.Compare(b.Count, a.Count)
	})
	return out
}

// biggest lists up to n operations: most time first or, without estimates, most
// multiply-accumulates.
func biggest(r *compile.Report, n int) []Layer {
	var out []Layer
	for _, l := range Layers(r) {
		if l.Kind == KindOp && (l.Time > 0 || l.MACs > 0) {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b Layer) int {
		if a.Time != b.Time {
			return cmp.Compare(b.Time, a.Time)
		}
		return cmp.Compare(b.MACs, a.MACs)
	})
	return out[:min(n, len(out))]
}
