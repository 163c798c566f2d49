package compile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/testmodel"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestEstimatesAreThoseOfReports compares the estimate of a model, whose segments are those that were lowered when its
// placement was tried, with the report of a pair, for which they are lowered again.
func TestEstimatesAreThoseOfReports(t *testing.T) {
	decoder := filepath.Join(t.TempDir(), "decoder.mil")
	d := testmodel.Decoder{
		Layers: 3, Width: 256, Hidden: 512, Heads: 8, Shared: 2, Head: 32, Vocabulary: 500, Context: 128,
		Queries: []int{1, 16},
	}
	if err := os.WriteFile(decoder, []byte(d.Text()), 0o666); err != nil {
		t.Fatal(err)
	}
	shared := shareddir.Find(t)
	paths := append(modelsBelow(t, shared, "converted"), decoder)
	for _, name := range []string{"silero-v6-fp16", "whisper-tiny-encoder", "parakeet-eou-decoder-lstm",
		"rb-multifunction-flexible"} {
		paths = append(paths, filepath.Join(shared, "corpus", name))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			answer := func(sink func(**compile.Report) compile.Sink) string {
				m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				var r *compile.Report
				o := compile.Options{Target: target.H13, Place: passes.PlaceAuto}
				if err := compile.Compile(t.Context(), m.Program, o, sink(&r)); err != nil {
					return err.Error()
				}
				for _, f := range append(r.Each(), r) {
					f.Timings, f.Tables = nil, nil
				}
				b, err := json.MarshalIndent(r, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				return string(b)
			}
			got := answer(func(r **compile.Report) compile.Sink { return compile.Sink{Estimate: compile.To(r)} })
			want := answer(func(r **compile.Report) compile.Sink { return compile.Sink{Report: compile.To(r)} })
			if got != want {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				from := max(0, i-200)
				t.Errorf("the estimate says\n%s\nand the report\n%s", got[from:min(len(got), i+200)],
					want[from:min(len(want), i+200)])
			}
		})
	}
}
