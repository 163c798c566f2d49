package difftest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

var (
	randomN     = flag.Int("random.n", 0, "generated programs; 0 for a few")
	randomFirst = flag.Uint64("random.first", 0, "number of the first generated program")
	randomWith  = flag.String("random.with", "", "only programs with an operation whose name contains this text")
	randomOn    = flag.String("random.target", "h13", "target of generated programs")
	regressions = flag.String("random.regressions", "", "folder to which the reduced programs of findings are written")
)

// few is the number of programs without -random.n.
const few = 2000

// maxOpen is the number of programs in which one proof may be left open.
const maxOpen = 1000

// enough is the number of programs from which on every row of the coverage table is reached that can be.
const enough = 100000

// TestRandomPrograms compiles generated programs and asks the judges about each. -random.n N prints the coverage table,
// in which every empty row must have a reason.
func TestRandomPrograms(t *testing.T) {
	// Trials allocate much and keep nothing; those on large tensors would grow the heap to tens of gigabytes.
	defer debug.SetGCPercent(debug.SetGCPercent(600))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(2 << 30))
	n := testform.Of(few/20, few, few)
	if *randomN > 0 {
		n = *randomN
	}
	tab, err := target.Lookup(*randomOn)
	if err != nil {
		t.Fatal(err)
	}
	var next, with, exact, tasks, engine, cpu atomic.Int64
	var mu sync.Mutex
	findings, open := map[uint64]error{}, map[uint64]string{}
	coverage := difftest.NewCoverage()
	var told verdicts
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			own := difftest.NewCoverage()
			for {
				k := *randomFirst + uint64(next.Add(1)-1)
				p, s := difftest.Trial(k, tab)
				if !contains(p.IR, *randomWith) {
					continue
				}
				if with.Add(1) > int64(n) || t.Context().Err() != nil {
					break
				}
				own.AddProgram(p.IR)
				s.Verified = told.add
				s.NotConcluded = func(cause string) {
					mu.Lock()
					defer mu.Unlock()
					open[k] = cause
				}
				r, err := difftest.Disagreement(t.Context(), p.IR, s)
				if r != nil {
					own.AddResult(r)
					tasks.Add(int64(r.Report.Tasks))
					engine.Add(int64(r.Report.EngineOps))
					cpu.Add(int64(r.Report.CPUOps))
				}
				if s.Exact {
					exact.Add(1)
				}
				if err != nil {
					mu.Lock()
					findings[k] = err
					mu.Unlock()
				}
			}
			mu.Lock()
			coverage.Merge(own)
			mu.Unlock()
		})
	}
	wg.Wait()
	const shown = 20
	for i, k := range slices.Sorted(maps.Keys(findings)) {
		if i == shown {
			t.Errorf("and %d more", len(findings)-shown)
			break
		}
		report(t, k, tab, findings[k])
	}
	t.Logf("%d programs, %d of them compared bit for bit: %d operations on the engine, %d on the CPU, %d tasks, "+
		"%d findings", n, exact.Load(), engine.Load(), cpu.Load(), tasks.Load(), len(findings))
	t.Log(told.String())
	if n >= few && 1000*told.untold() > 2*n {
		t.Errorf("verify cannot tell of more than 0.2 %% of programs")
	}
	t.Logf("%d proofs are not concluded", len(open))
	for _, k := range slices.Sorted(maps.Keys(open)) {
		t.Logf("program %d is not concluded: %s", k, open[k])
	}
	if len(open) > max(1, n/maxOpen) {
		t.Errorf("%d of %d proofs are not concluded, want at most one in %d", len(open), n, maxOpen)
	}
	if *randomN > 0 {
		if err := coverage.Text(os.Stdout); err != nil {
			t.Error(err)
		}
	}
	if n >= enough {
		for _, row := range coverage.Table() {
			if row.N == 0 && row.Why == "" {
				t.Errorf("no program reaches %s: %s", row.Group, row.Row)
			}
		}
	}
}

// contains reports whether a program has an operation whose name contains a text.
func contains(p *ir.Program, name string) bool {
	found := name == ""
	for _, f := range p.Funcs {
		ir.Walk(f, func(op *ir.Op) { found = found || strings.Contains(op.Def.Name, name) })
	}
	return found
}

// verdicts counts programs by the verdict of verify on their worst output, with the reason.
type verdicts struct {
	mu    sync.Mutex
	n     int
	count map[string]int
}

// add counts a program.
func (v *verdicts) add(r *verify.Result) {
	kind := ""
	for _, o := range r.Outputs {
		switch {
		case o.Verdict == verify.CannotTell:
			kind = string(verify.CannotTell) + ": " + string(o.Cause)
		case o.Proved && kind == "":
			kind = "pass by proof"
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.n++
	if kind != "" {
		if v.count == nil {
			v.count = map[string]int{}
		}
		v.count[kind]++
	}
}

// untold returns how many programs verify cannot judge.
func (v *verdicts) untold() int {
	n := 0
	for kind, k := range v.count {
		if strings.HasPrefix(kind, string(verify.CannotTell)) {
			n += k
		}
	}
	return n
}

// String lists the verdicts that a bound alone did not give.
func (v *verdicts) String() string {
	text := fmt.Sprintf("verify judged %d programs", v.n)
	for _, kind := range slices.Sorted(maps.Keys(v.count)) {
		text += fmt.Sprintf("; %s: %d (%.2f %%)", kind, v.count[kind], 100*float64(v.count[kind])/float64(v.n))
	}
	return text
}

// report reduces the program of a finding and prints it.
func report(t *testing.T, k uint64, tab *target.Table, err error) {
	p, s := difftest.Trial(k, tab)
	small, reduced := difftest.Reduce(context.Background(), p.IR, s, err)
	if reduced != nil && !errors.Is(reduced, reduce.ErrNotInteresting) {
		t.Errorf("reducing program %d: %v", k, reduced)
	}
	text, e := unbuild.Program(small, "weight.bin")
	if e != nil {
		t.Fatal(e)
	}
	t.Errorf("program %d (-random.n 1 -random.first %d), %s: %v\n%s", k, k, p.Steps, err, text.MIL)
	if *regressions != "" {
		if err := difftest.Keep(context.Background(), *regressions, k, small, err); err != nil {
			t.Error(err)
		}
	}
}
