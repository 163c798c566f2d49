package sim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
)

// tryProgram compiles and compares a made program. Any error is a find. A program with sums that cancel can have bounds
// that are too wide to show anything, for which told is false: it is proved all the same, if it is to be.
func tryProgram(b []byte, on *target.Table, prove bool, modes ...numerics.Mode) (engine, told bool, err error) {
	told = true
	p := irgen.FromBytes(b)
	c, err := loadPair(p.IR, compile.Options{Target: on, SplitKernel: len(b)%2 == 0, Workers: 1})
	if err == nil && prove {
		err = c.proved()
	}
	if err == nil {
		in := c.inputs(uint64(len(b)), nil)
		for _, mode := range modes {
			if e := c.check(in, mode); errors.Is(e, errUntold) {
				told = false
			} else if e != nil {
				err = e
			}
		}
	}
	if err != nil {
		return false, told, fmt.Errorf("%s\n%w\n%s", p.Steps, err, c.brief())
	}
	return c.res.Report.EngineOps > 0, told, nil
}

// randomGraphs compiles seeded random programs for a target and compares the
// pair with the interpreter. ZINC_RANDOM_GRAPHS sets another number of programs.
func randomGraphs(t *testing.T, n int, stream uint64, on *target.Table) {
	n = testform.Of(n/15, n, 10*n)
	if v, err := strconv.Atoi(os.Getenv("ZINC_RANDOM_GRAPHS")); err == nil {
		n = v
	}
	engine, untold := 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), stream))
		b := make([]byte, 20+r.IntN(160))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		used, told, err := tryProgram(b, on, true, numerics.ANE, numerics.IEEE)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if used {
			engine++
		}
		if !told {
			untold++
		}
	}
	if engine < n/2 {
		t.Errorf("only %d of %d programs use the engine", engine, n)
	}
	if untold > n/20 {
		t.Errorf("the bounds of %d of %d programs are too wide to show anything", untold, n)
	}
}

func TestRandomGraphsAgree(t *testing.T) { randomGraphs(t, 300, 1, target.H13) }

// TestRandomGraphsOnASmallTarget uses a target with little L2 and low limits, so that small tensors are divided as
// large ones are. The simulated engine has the full limits and runs the result.
func TestRandomGraphsOnASmallTarget(t *testing.T) {
	small := *target.H13
	small.L2Bytes, small.MaxHeight, small.MaxGroups, small.StreamPixels = 48<<10, 20, 5, 16
	randomGraphs(t, 300, 3, &small)
}

// FuzzGraph makes programs of a few steps from bytes, runs each in one of two arithmetics and proves one in four: what
// takes a millisecond finds more in the time of a run than what takes ten.
func FuzzGraph(f *testing.F) {
	const most = 12
	for seed := range 8 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		b := make([]byte, most/2)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > most {
			return
		}
		last := b[len(b)-1]
		mode := []numerics.Mode{numerics.ANE, numerics.IEEE}[last%2]
		if _, _, err := tryProgram(b, target.H13, last/2%4 == 0, mode); err != nil {
			t.Fatal(err)
		}
	})
}
