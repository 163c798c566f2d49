package passes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// TestWidePartitionsAreCutAsLateAsTheyCan compares the runs of random partitions with those that are found by trying
// every end.
func TestWidePartitionsAreCutAsLateAsTheyCan(t *testing.T) {
	table := *target.H13
	table.MaxSurfaces, table.MaxTasks = 6, 24
	for seed := range uint64(500) {
		f, s := randomStep(rand.New(rand.NewPCG(seed, 1)), &table)
		var got, want []string
		for _, st := range s.splitWide([]*Partition{{Unit: ir.Engine, Ops: f.Body.Ops}}) {
			got = append(got, fmt.Sprint(len(st.Ops), st.Cut))
		}
		cut := NoCut
		for first := 0; first < len(f.Body.Ops); {
			n, next := latest(s, f, first)
			want = append(want, fmt.Sprint(n, cut))
			first, cut = first+n, next
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: runs %v, want %v", seed, got, want)
		}
	}
}

// randomStep makes a function of additions, some of them fused into an earlier one, with some values as outputs.
func randomStep(r *rand.Rand, table *target.Table) (*ir.Func, *State) {
	value := func(i int) *ir.Value { return &ir.Value{Name: fmt.Sprint("v", i), Type: ir.TensorOf(ir.FP16, 1)} }
	f := &ir.Func{Body: &ir.Block{}}
	s := &State{Options: Options{Target: table}, Func: f, Fused: map[*ir.Op][]*ir.Op{}}
	var values []*ir.Value
	for i := range 1 + r.IntN(12) {
		values = append(values, value(i))
	}
	f.Body.Params = values[:len(values):len(values)]
	near := 1 + r.IntN(20)
	for i := range 1 + r.IntN(60) {
		op := ir.NewOp(ir.Lookup("add", "ios18"))
		x := values[max(0, len(values)-1-r.IntN(near))]
		op.SetArg(ir.ParamX, x)
		op.SetArg(ir.ParamY, values[r.IntN(len(values))])
		v := value(100 + i)
		v.Def, op.Results = op, []*ir.Value{v}
		op.Alone = ir.Alone{Tasks: r.Int32N(3), Known: true}
		if d := x.Def; d != nil && d == f.Body.Ops[len(f.Body.Ops)-1] && r.IntN(4) == 0 {
			s.Fused[d] = []*ir.Op{op}
		}
		values, f.Body.Ops = append(values, v), append(f.Body.Ops, op)
		if r.IntN(12) == 0 {
			f.Body.Outputs = append(f.Body.Outputs, v)
		}
	}
	return f, s
}

// latest returns the length of the longest run that begins with an operation, and the limit that ends it.
func latest(s *State, f *ir.Func, first int) (best int, cut Cut) {
	tasks, fused := 0, map[*ir.Op]bool{}
	for i := first; i < len(f.Body.Ops); i++ {
		op := f.Body.Ops[i]
		delete(fused, op)
		for _, e := range s.Fused[op] {
			fused[e] = true
		}
		if tasks += int(op.Alone.Tasks); best > 0 && tasks > s.Target.MaxTasks/chainShare {
			return best, CutTasks
		}
		if len(fused) > 0 {
			continue
		}
		run, rest := f.Body.Ops[first:i+1], f.Body.Ops[i+1:]
		reads, outputs := map[*ir.Value]bool{}, map[*ir.Value]bool{}
		for _, op := range run {
			op.Reads(func(v *ir.Value) {
				if !slices.Contains(run, v.Def) {
					reads[v] = true
				}
			})
			for _, v := range op.Results {
				later := func(op *ir.Op) bool { return op.Arg(ir.ParamX) == v || op.Arg(ir.ParamY) == v }
				if slices.Contains(f.Body.Outputs, v) || slices.ContainsFunc(rest, later) {
					outputs[v] = true
				}
			}
		}
		if best == 0 || len(reads)+len(outputs) <= s.Target.MaxSurfaces {
			best = i + 1 - first
		}
		if len(reads) > s.Target.MaxSurfaces {
			break
		}
	}
	return best, CutRegisters
}
