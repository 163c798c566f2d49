package cost

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// recorded returns the tasks of every recorded program, by case.
func recorded(t *testing.T) (names []string, tasks [][]*td.Task) {
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
			Case  string
			Tasks []struct {
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
			x, err := td.Decode(ws)
			if err != nil {
				t.Fatalf("%s: %v", c.Case, err)
			}
			list = append(list, x)
		}
		names, tasks = append(names, c.Case), append(tasks, list)
	}
	return names, tasks
}

// TestRecorded holds the estimates against the time that the header of each
// recorded task states, the vendor's own estimate, and prints how far they are
// apart. Comparisons must say the same.
func TestRecorded(t *testing.T) {
	names, programs := recorded(t)
	type pair struct{ est, word float64 }
	var pairs []pair
	var ratios []float64
	all, agree := 0, 0
	for i, tasks := range programs {
		for k, x := range tasks {
			e := Estimate(x, target.H13)
			word := int64(x.Get(td.ExeCycles))
			bytes := e.TileBytes
			if x.Get(td.NEOp) == neMultiply {
				bytes += e.KernelBytes
			}
			all++
			if bytes*3/102400 == word {
				agree++
			} else {
				t.Logf("%s task %d: %d bytes are %d us at 34.13 GB/s, the header says %d", names[i], k, bytes, bytes*3/102400, word)
			}
			if e.L2End <= 0 || e.L2End > target.H13.L2Bytes || e.Time <= 0 {
				t.Errorf("%s task %d: %+v", names[i], k, e)
			}
			us := float64(e.Time) / float64(Microsecond)
			pairs = append(pairs, pair{us, float64(word)})
			if word > 0 {
				ratios = append(ratios, us/(float64(word)+.5)) // the word is cut to whole microseconds
			}
		}
	}
	slices.Sort(ratios)
	at := func(q float64) float64 { return ratios[int(q*float64(len(ratios)-1))] }
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
	got := []string{
		fmt.Sprintf("the DMA bytes give the header's time at 34.13 GB/s in %d of %d tasks", agree, all),
		fmt.Sprintf("%.2f times the header's at the median of the %d tasks of 1 us and more, %.2f to %.2f times in the middle four fifths; the header is the vendor's own estimate, by bytes alone", at(.5), len(ratios), at(.1), at(.9)),
		fmt.Sprintf("of two tasks with different times the same one is longer in %.0f %% of pairs", 100*float64(same)/float64(same+other)),
	}
	if short := fmt.Sprintf("%.2f times the vendor's own estimate at the median of %d recorded tasks", at(.5), len(ratios)); !strings.Contains(Known(), short) {
		t.Errorf("the known error does not say %q", short)
	}
	for _, g := range got {
		t.Log(g)
		if !slices.ContainsFunc(Comparisons, func(c Comparison) bool { return c.Result == g }) {
			t.Errorf("no comparison says %q", g)
		}
	}
}
