package compile

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// TestEstimates: the products of a task's registers are those of the operation,
// and every sum of the report is a sum of its parts.
func TestEstimates(t *testing.T) {
	m, err := frontend.Open(filepath.Join("..", "examples", "digits", "digits.mlmodelc"), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := Compile(context.Background(), m.Program, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rep := r.Report
	var ops, dispatches, tasks Estimate
	weights, n := int64(0), 0
	for _, o := range rep.Ops {
		weights += o.Weights
		n += o.Tasks
		if o.Estimate != nil {
			ops.merge(o.Estimate)
		}
	}
	for _, d := range rep.DispatchList {
		dispatches.merge(d.Estimate)
	}
	for _, x := range rep.TaskList {
		tasks.merge(x.Estimate)
	}
	once := cost.Overhead(target.H13) * cost.Time(rep.Dispatches)
	all := rep.Estimate
	if ops.Time != tasks.Time || ops.Time+once != all.Time || dispatches.Time != all.Time || all.Terms[cost.Dispatch] != once {
		t.Errorf("operations %s us, tasks %s, dispatches %s, in all %s", ops.Time, tasks.Time, dispatches.Time, all.Time)
	}
	if n != rep.Tasks || ops.Cycles != all.Cycles || ops.DMABytes != all.DMABytes || ops.L2Peak != all.L2Peak || weights > rep.Weights || weights == 0 {
		t.Errorf("operations %+v, %d tasks, %d bytes of weights; in all %+v, %d, %d", ops, n, weights, all, rep.Tasks, rep.Weights)
	}
	macs := map[string]int64{}
	k := 0
	for _, p := range r.HWX.Procedures() {
		text, off, _ := r.HWX.TextOf(p)
		chain, err := td.DecodeChain(text, off, p.FirstWords)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range chain {
			macs[rep.TaskList[k].Op] += cost.Estimate(x.Task, target.H13).MACs
			k++
		}
	}
	seen := 0
	for _, o := range rep.Ops {
		if o.Op == "conv" {
			seen++
			if macs[o.Name] != o.MACs {
				t.Errorf("%s: registers say %d products, the operation %d", o.Name, macs[o.Name], o.MACs)
			}
		}
	}
	if seen == 0 {
		t.Error("no convolution")
	}
}

// TestShare holds the sharing of bytes against a count of every byte.
func TestShare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		const size, owners = 64, 6
		var claims []claim
		for range r.IntN(12) {
			from := r.Int64N(size)
			claims = append(claims, claim{cost.Extent{From: from, To: from + 1 + r.Int64N(size-from)}, r.IntN(owners)})
		}
		var want, got [owners]int64
		for at := range int64(size) {
			by := owners
			for _, c := range claims {
				if c.From <= at && at < c.To {
					by = min(by, c.by)
				}
			}
			if by < owners {
				want[by]++
			}
		}
		share(append([]claim(nil), claims...), func(by int, n int64) { got[by] += n })
		if got != want {
			t.Fatalf("%v are shared as %v, want %v", claims, got, want)
		}
	}
}
