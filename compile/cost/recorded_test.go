package cost

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// program is a recorded program.
type program struct {
	name, family string
	tasks        []*td.Task
}

// recorded returns every recorded program, by name.
func recorded(t *testing.T) (programs []program) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", "h13", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Case   string
			Family string
			Tasks  []struct {
				Header  []string
				Records []struct {
					Addr  string
					Words []string
				}
			}
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		var list []*td.Task
		for _, r := range c.Tasks {
			var ws []uint32
			add := func(more uint32, texts ...string) {
				for _, s := range texts {
					v, err := strconv.ParseUint(s, 0, 32)
					if err != nil {
						t.Fatal(err)
					}
					ws = append(ws, more|uint32(v))
				}
			}
			add(0, r.Header...)
			for _, rec := range r.Records {
				add(uint32(len(rec.Words)-1)<<26, rec.Addr)
				add(0, rec.Words...)
			}
			x, err := td.V7.DecodeWords(ws)
			if err != nil {
				t.Fatalf("%s: %v", c.Case, err)
			}
			list = append(list, x)
		}
		programs = append(programs, program{c.Case, c.Family, list})
	}
	return programs
}

// headerRate is the rate at which the vendor's compiler times the bytes of a task in its header, in bytes per second:
// 64 bits at 4266 million transfers a second. It is no rate of the hardware.
const headerRate = 102400e6 / 3

// bytesOf are the bytes that the vendor's compiler times a task by.
func bytesOf(x *td.Task) int64 {
	e := Estimate(x, target.H13)
	if x.NeuralOp() != td.NEMultiply {
		return e.TileBytes
	}
	return e.TileBytes + e.Kernel.Bytes
}

// TestRate fits the rate of the headers on every second program: each header, cut to
// whole microseconds, says that the rate is between two numbers. The other half is
// held against the constant.
func TestRate(t *testing.T) {
	low, high := 0.0, math.Inf(1)
	var odd []string
	tasks, same := 0, 0
	for i, p := range recorded(t) {
		for k, x := range p.tasks {
			bytes, us := float64(bytesOf(x)), float64(x.Get(td.ExeCycles))
			least, most := bytes/(us+1)*1e6, math.Inf(1) // exclusive, inclusive
			if us > 0 {
				most = bytes / us * 1e6
			}
			if i%2 == 0 {
				if least >= high || most <= low { // contradicts those before
					odd = append(odd, fmt.Sprintf("%s task %d", p.name, k))
					continue
				}
				low, high = max(low, least), min(high, most)
				continue
			}
			tasks++
			if math.Floor(bytes/headerRate*1e6) == us {
				same++
			}
		}
	}
	if headerRate <= low || headerRate > high {
		t.Errorf("the fitted half has the rate from %.5g to %.5g B/s, the constant is %.5g", low, high,
			headerRate)
	}
	compared(t, fmt.Sprintf("one half of the programs, by name, has the rate of bytes between %.2f and %.2f GB/s "+
		"(%d tasks left out), the constant is %.2f; with it %d of %d tasks of the other half have the header's time",
		low/1e9, high/1e9, len(odd), headerRate/1e9, same, tasks))
}

// compared looks for what was found among Comparisons.
func compared(t *testing.T, got string) {
	t.Helper()
	t.Log(got)
	if !slices.ContainsFunc(Comparisons, func(c Comparison) bool { return c.Result == got }) {
		t.Errorf("no comparison says %q", got)
	}
}

// TestRecorded compares the estimates with the time that the header of each recorded task states, the vendor's own
// estimate, and prints where its bytes do not give it.
func TestRecorded(t *testing.T) {
	type pair struct{ est, word float64 }
	var pairs []pair
	all, agree := 0, 0
	for _, p := range recorded(t) {
		for k, x := range p.tasks {
			e := Estimate(x, target.H13)
			word := int64(x.Get(td.ExeCycles))
			all++
			if n := bytesOf(x); n*3/102400 == word {
				agree++
			} else {
				t.Logf("%s task %d: %d bytes are %d us at 34.13 GB/s, the header says %d", p.name, k, n, n*3/102400,
					word)
			}
			if e.L2End <= 0 || e.L2End > target.H13.L2Bytes || e.Time <= 0 {
				t.Errorf("%s task %d: %+v", p.name, k, e)
			}
			pairs = append(pairs, pair{float64(e.Time), float64(word)})
		}
	}
	same, other := 0, 0
	for i, a := range pairs {
		for _, b := range pairs[:i] {
			switch d := (a.est - b.est) * (a.word - b.word); {
			case d > 0:
				same++
			case d < 0:
				other++
			}
		}
	}
	compared(t, fmt.Sprintf("the DMA bytes give the header's time at 34.13 GB/s in %d of %d tasks", agree, all))
	compared(t, fmt.Sprintf("of two tasks with different times the same one is longer in %.1f %% of pairs",
		100*float64(same)/float64(same+other)))
}
