package neuralnetwork_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/frontend/neuralnetwork"
	"github.com/zinc-compiler/zinc/ir"
)

// FuzzRead reads any specification: it is an error or a program that holds its invariants and is a text, and memory is
// proportional to the input.
func FuzzRead(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.model)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := mlmodel.Decode(bytes.NewReader(data), int64(len(data)), "fuzz")
		if err != nil || !neuralnetwork.Is(spec.Metadata.Form) {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := neuralnetwork.Read(data[spec.Start:spec.End], spec.Start, spec.Metadata)
		runtime.ReadMemStats(&after)
		// Of the least input, what the tables of kinds and an operation take; of a byte, a message of its own, or 8
		// weights.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+4096*len(data)); got > most {
			t.Errorf("%d bytes allocated for %d, want at most %d", got, len(data), most)
		}
		if err != nil {
			return
		}
		if err := ir.Verify(n.Program); err != nil {
			t.Fatal(err)
		}
		text, err := unbuild.Program(n.Program, "w.bin")
		if err != nil {
			t.Fatal(err)
		}
		if _, list := mil.Parse("fuzz", text.MIL); list.HasErrors() {
			t.Errorf("%v\n%s", list.Err(), text.MIL)
		}
	})
}
