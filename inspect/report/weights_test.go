package report

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// TestWeightBytesMatchTheContainer compares the bytes of each layer with the container,
// the debug database, and the registers of the tasks.
func TestWeightBytesMatchTheContainer(t *testing.T) {
	shared := shareddir.Find(t)
	for _, name := range []string{"silero-v6-fp16", "silero-v6-int8", "silero-v6-palette-4bit",
		"silero-v6-palette-2bit", "silero-v6-pruned-int8", "espresso-full-fused", "mnist-cnn-inline",
		"whisper-tiny-encoder"} {
		t.Run(name, func(t *testing.T) {
			m, err := frontend.Open(shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name)),
				frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := compile.All(context.Background(), m.Program, compile.Options{
				Target:      target.H13,
				Precision:   "fp16",
				SplitKernel: true,
				Provenance:  true,
			})
			if err != nil {
				t.Fatal(err)
			}
			d := &Document{Report: r.Report}
			addsUp(t, d)
			lines, stored := int64(0), int64(0)
			for _, l := range Layers(r.Report) {
				lines += l.Weights
				if l.Padding > l.Weights {
					t.Errorf("%s %q: %d bytes, %d of them padding", l.Op, l.Name, l.Weights, l.Padding)
				}
			}
			for _, s := range r.HWX.ConstantSections() {
				stored += int64(s.Size)
			}
			if lines != stored || stored == 0 {
				t.Errorf("the lines have %d bytes of constants, the container %d", lines, stored)
			}
			padding, at := int64(0), uint64(0)
			for _, x := range r.Provenance.Extents {
				if x.Offset != at {
					t.Fatalf("extents leave out bytes %d to %d", at, x.Offset)
				}
				at += x.Size
				for _, rep := range x.Layout {
					for _, run := range rep.Runs {
						if run.Role == provenance.RolePadding || run.Role == provenance.RoleReserved {
							padding += int64(rep.Times) * int64(run.Size)
						}
					}
				}
			}
			if padding += stored - int64(at); padding != r.Report.Padding {
				t.Errorf("the record has %d bytes of padding, the report %d", padding, r.Report.Padding)
			}
			read := readByTasks(t, r)
			for _, o := range r.Report.Ops {
				if n := read[o.Name]; n != o.Weights+o.Shared {
					t.Errorf("%s %q: its tasks read constants of %d bytes, it has %d and shares %d", o.Op, o.Name, n,
						o.Weights, o.Shared)
				}
			}
		})
	}
}

// readByTasks returns the bytes of the stored constants that the tasks of each
// operation read any byte of, from their registers.
func readByTasks(t *testing.T, r *compile.Result) map[string]int64 {
	t.Helper()
	extents := r.Provenance.Extents
	seen := map[string]map[int]bool{}
	for _, f := range r.Functions {
		k := 0
		for _, p := range f.Procedures {
			for _, task := range p.Tasks {
				op := f.Report.TaskList[k].Op
				k++
				for _, x := range constantsOf(task) {
					i, _ := slices.BinarySearchFunc(extents, uint64(x[0]), func(e provenance.Extent, at uint64) int {
						if e.Offset+e.Size <= at {
							return -1
						}
						return 1
					})
					for ; i < len(extents) && int64(extents[i].Offset) < x[1]; i++ {
						if seen[op] == nil {
							seen[op] = map[int]bool{}
						}
						seen[op][i] = true
					}
				}
			}
		}
	}
	out := map[string]int64{}
	for op, is := range seen {
		for i := range is {
			out[op] += int64(extents[i].Size)
		}
	}
	return out
}

// constantsOf returns the stretches of the constants that a task reads: its sources by DMA
// and the parts of its coefficient lanes.
func constantsOf(t *td.Task) (out [][2]int64) {
	for _, a := range td.Accesses(t) {
		if !a.Result && a.InDRAM && t.Int(a.Bar) == td.BarConstants {
			from, to := a.Span()
			out = append(out, [2]int64{from, to})
		}
	}
	if t.On(td.KBE0) && t.Int(td.KBase0) == td.BarConstants {
		for p := range t.LaneParts() {
			out = append(out, [2]int64{p.From, p.To})
		}
	}
	return out
}
