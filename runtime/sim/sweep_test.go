package sim_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/ir/irgen"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/reduce"
	"github.com/zinc-compiler/zinc/target"
)

var (
	sweepN     = flag.Int("sweep.n", 0, "programs of each sweep; 0 for a few")
	sweepFirst = flag.Int("sweep.first", 0, "number of the first program of each sweep")
)

// errRefused marks programs that do not become a loaded pair.
var errRefused = errors.New("the program is refused")

// swept is a program of a sweep.
type swept struct {
	*irgen.Program
	seed uint64 // of its inputs
	// place is where what the engine can run goes, "" by time; with passes.PlaceEngine what it does not run must
	// be refused with the limit that it passes.
	place string
}

// sweep compiles programs, runs each on the engine simulator and on the
// interpreter, and compares: programs that round nowhere bit for bit, others
// within the bounds of their operations. The hazard checker must find nothing in
// their containers. few is the number of programs without -sweep.n, all the number
// that there are, 0 where they have no end.
func sweep(t *testing.T, few, all int, program func(i int) *swept) {
	if testing.Short() {
		few /= 5
	}
	n := few
	if *sweepN > 0 {
		n = *sweepN
	}
	if all > 0 {
		n = min(n, max(all-*sweepFirst, 0))
	}
	var engine, cpu, tasks, equal, next atomic.Int64
	var mu sync.Mutex
	wrong, refused := map[int]error{}, map[int]error{} // by program
	begin := time.Now()
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				i += *sweepFirst
				p := program(i)
				c, err := p.try()
				if c.res != nil {
					engine.Add(int64(c.res.Report.EngineOps))
					cpu.Add(int64(c.res.Report.CPUOps))
					tasks.Add(int64(c.res.Report.Tasks))
				}
				if p.Exact {
					equal.Add(1)
				}
				if err != nil {
					finds := wrong
					if errors.Is(err, errRefused) {
						finds = refused
					}
					mu.Lock()
					finds[i] = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	const shown = 10 // of each kind
	for _, finds := range []map[int]error{wrong, refused} {
		for k, i := range slices.Sorted(maps.Keys(finds)) {
			if k == shown {
				break
			}
			p := program(i) // again, since the compiler has rewritten the first
			text, err := reduce.NewText(p.IR, "weight.bin")
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("program %d (-sweep.n 1 -sweep.first %d): %s: %v\n%s", i, i, p.Steps, finds[i], text.MIL)
		}
	}
	t.Logf("%d programs, %d of them compared bit for bit: %d operations on the engine, %d on the CPU, %d tasks",
		n, equal.Load(), engine.Load(), cpu.Load(), tasks.Load())
	t.Logf("%d programs differ, %d are refused; %.1f s", len(wrong), len(refused), time.Since(begin).Seconds())
	if n > 100 && cpu.Load() > engine.Load()/10 {
		t.Errorf("%d operations run on the CPU, %d on the engine", cpu.Load(), engine.Load())
	}
}

// fromText writes a program as MIL text and reads it again. A program with large
// constants, which need a weight file, stays as it is.
func fromText(p *ir.Program) (*ir.Program, error) {
	t, err := reduce.NewText(p, "weight.bin")
	if err != nil || len(t.Blobs) > 0 {
		return p, err
	}
	tree, list := mil.Parse("main.mil", t.MIL)
	if list.HasErrors() {
		return nil, fmt.Errorf("the program's text does not parse: %v", list)
	}
	q, list := build.Program(tree, nil, build.Options{})
	if list.HasErrors() {
		return nil, fmt.Errorf("the program's text is refused: %v", list)
	}
	return q, nil
}

// try compiles, checks, runs and compares.
func (p *swept) try() (*compiled, error) {
	c := &compiled{}
	program, err := fromText(p.IR)
	if err != nil {
		return c, fmt.Errorf("%w: %w", errRefused, err)
	}
	if err := c.compile(program, compile.Options{SplitKernel: p.seed%3 == 0, Workers: 1, Place: p.place}); err != nil {
		return c, fmt.Errorf("%w: %w", errRefused, err)
	}
	if p.place == passes.PlaceEngine {
		if err := limited(c.res.Report); err != nil {
			return c, err
		}
	}
	f, err := hwx.Read(c.hwx)
	if err != nil {
		return c, fmt.Errorf("%w: %w", errRefused, err)
	}
	r, err := hazard.Check(f)
	if err != nil {
		return c, fmt.Errorf("%w: %w", errRefused, err)
	}
	if len(r.Hazards) > 0 {
		return c, fmt.Errorf("%w: %d hazards, the first: %s", errRefused, len(r.Hazards), r.Hazards[0])
	}
	mode := []numerics.Mode{numerics.ANE, numerics.IEEE}[p.seed%2]
	if p.Exact {
		in := c.inputs(p.seed, func(r *rand.Rand) float64 { return float64(r.IntN(2*int(p.Top)+1)) - p.Top })
		return c, c.checkEqual(in, mode)
	}
	return c, c.check(c.inputs(p.seed, nil), mode)
}

// limited returns an error for an operation on the CPU whose refusal names no limit.
func limited(r *compile.Report) error {
	for _, o := range r.Ops {
		if o.Unit != ir.CPU.String() {
			continue
		}
		no := o.Refusal
		if no == nil || no.Limit == "" || no.Rule == target.RuleOther || no.Rule == target.RuleNoLowering {
			return fmt.Errorf("%s %s is on the CPU and its refusal names no limit: %s", o.Op, o.Name, o.Reason)
		}
	}
	return nil
}

// mixed returns place i of a fixed order of n things in which neighbours are far
// apart.
func mixed(i, n int) int { return i % n * math.MaxInt32 % n } // a prime

// TestSweepMovedResultsAreRight: a tensor that a task leaves in L2 is read as what
// the next operation takes it for, whatever computes it and however it is laid out
// next.
func TestSweepMovedResultsAreRight(t *testing.T) {
	sweep(t, 2000, 0, func(i int) *swept {
		k := i/irgen.Triples*irgen.Triples + mixed(i, irgen.Triples)
		return &swept{Program: irgen.Chain(k), seed: uint64(k)}
	})
}

// TestSweepWideTensorsAreRight: every step on tensors with a dimension up to the limits of the target, at them, one
// under and one over. What is over runs right on the CPU, and its refusal names the limit.
func TestSweepWideTensorsAreRight(t *testing.T) {
	e := irgen.Extents{Last: int64(target.H13.MaxWidth), Other: 4096, Limit: int64(target.H13.MaxChannels)}
	sweep(t, 4*irgen.Wides, 0, func(i int) *swept {
		return &swept{Program: irgen.Wide(i, e), seed: uint64(i), place: passes.PlaceEngine}
	})
}

// Limits of the sweep of products.
const (
	maxRows, maxColumns = 20, 256
	maxRank             = 4
	maxTerms            = 8
)

// known holds the shapes of each number of elements.
var known sync.Map

// shapes returns the shapes of n elements, of up to maxRank dimensions.
func shapes(n int64) [][]int64 {
	if all, ok := known.Load(n); ok {
		return all.([][]int64)
	}
	var divisors []int64
	for d := int64(1); d <= n; d++ {
		if n%d == 0 {
			divisors = append(divisors, d)
		}
	}
	var all [][]int64
	var extend func(s []int64, n int64)
	extend = func(s []int64, n int64) {
		s = s[:len(s):len(s)]
		all = append(all, append(s, n))
		if len(s) == maxRank-1 {
			return
		}
		for _, d := range divisors {
			if n%d == 0 {
				extend(append(s, d), n/d)
			}
		}
	}
	extend(nil, n)
	known.Store(n, all)
	return all
}

// productsBefore returns the number of reshapes of all products with fewer
// columns than each has, or as many and fewer rows; and the number of all.
var productsBefore = sync.OnceValues(func() (before []int, all int) {
	for k := range maxRows * maxColumns {
		before = append(before, all)
		all += len(shapes(rowsOf(k) * columnsOf(k)))
	}
	return before, all
})

func rowsOf(k int) int64    { return int64(k%maxRows + 1) }
func columnsOf(k int) int64 { return int64(k/maxRows + 1) }

// TestSweepReshapedProductsAreRight: the result of a product of up to 20 rows by
// 256 columns is reshaped in any way to one to four dimensions. A program holds
// several products that have nothing to do with each other; -sweep.n 400000
// comprises all.
func TestSweepReshapedProductsAreRight(t *testing.T) {
	const perProgram = 8
	before, all := productsBefore()
	sweep(t, 500, (all+perProgram-1)/perProgram, func(i int) *swept {
		g := irbuild.New(uint64(i))
		r := rand.New(rand.NewPCG(uint64(i), 4))
		weight := func(int64) float64 { return float64(r.IntN(9) - 4) }
		var steps []string
		for j := i * perProgram; j < min((i+1)*perProgram, all); j++ {
			at := mixed(j, all)
			k := sort.SearchInts(before, at+1) - 1
			rows, columns := rowsOf(k), columnsOf(k)
			terms := 1 + r.Int64N(maxTerms)
			if i%2 == 0 {
				terms = min(terms, max(256/columns, 1)) // no weight file
			}
			x := g.Input(rows, terms)
			var y *ir.Value
			switch r.IntN(3) {
			case 0:
				y = g.Op("linear", "x", x, "weight", g.Filled(ir.FP16, weight, columns, terms))
			case 1:
				bias := g.Filled(ir.FP16, weight, columns)
				y = g.Op("linear", "x", x, "weight", g.Filled(ir.FP16, weight, columns, terms), "bias", bias)
			case 2:
				y = g.Op("matmul", "x", x, "y", g.Filled(ir.FP16, weight, terms, columns))
			}
			g.Output(g.Op("reshape", "x", y, "shape", shapes(rows * columns)[at-before[k]]))
			steps = append(steps, fmt.Sprintf("%s of %d rows by %d columns", y.Def.Def.Name, rows, columns))
		}
		return &swept{
			Program: &irgen.Program{IR: g.Program(), Steps: strings.Join(steps, ", "), Exact: true, Top: 8},
			seed:    uint64(i),
		}
	})
}
