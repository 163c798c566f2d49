package cli

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/check"
	"github.com/zinc-compiler/zinc/internal/testmodel"
)

// llama is a decoder of the published shape of an 8-billion-parameter model, with some of its 32 layers.
func llama(layers int, queries ...int) testmodel.Decoder {
	return testmodel.Decoder{
		Layers: layers, Width: 4096, Hidden: 14336, Heads: 32, Shared: 8, Head: 128, Vocabulary: 128256, Context: 2048,
		Queries: queries,
	}
}

// checkDecoder checks a decoder without weights.
func checkDecoder(t *testing.T, d testmodel.Decoder, want int, args ...string) *check.Target {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.mil")
	put(t, path, []byte(d.Text()))
	status, out, errs := call(t, append([]string{"check", path, "--json"}, args...)...)
	if status != want {
		t.Fatalf("status %d, want %d: %s", status, want, errs)
	}
	var r check.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return &r.Targets[0]
}

// TestCheckEstimatesWhatNoContainerHasRoomFor checks 4 layers, which fit a container, and 10, which do not: each layer
// takes as long in both.
func TestCheckEstimatesWhatNoContainerHasRoomFor(t *testing.T) {
	few, many := llama(4, 1), llama(10, 1)
	a := checkDecoder(t, few, statusOK, "--advice=false")
	b := checkDecoder(t, many, statusInput, "--advice=false")
	if a.Exceeds != "" || !strings.Contains(b.Exceeds, "the limit of one container") {
		t.Errorf("4 layers: %q, 10 layers: %q", a.Exceeds, b.Exceeds)
	}
	// A layer reads 436 MB of weights; 1.05 GB are read after the layers.
	layer := float64(b.CallTime()-a.CallTime()) / 6
	if head := float64(a.CallTime()) - 4*layer; head < 1.5*layer || head > 3.5*layer {
		t.Errorf("a call of 4 layers takes %v and one of 10 %v", a.CallTime(), b.CallTime())
	}
	if c := b.Weights - a.Weights; c < 6*436e6 || c > 6*437e6 {
		t.Errorf("10 layers have %d bytes of constants, 4 have %d", b.Weights, a.Weights)
	}
}

// TestAssumedWeightsTakeNoMemory checks the whole model, of 16 GB.
func TestAssumedWeightsTakeNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	checkDecoder(t, llama(32, 1), statusInput, "--advice=false")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestCheckOfADecoder checks the rates, the memory, the programs and the first load of a whole model with two
// functions: 9 programs are what a public report needed for its 8 billion parameters.
func TestCheckOfADecoder(t *testing.T) {
	a := checkDecoder(t, llama(32, 64, 1), statusInput, "--advice=false").Decoder
	if a == nil || len(a.Rates) != 2 || a.Rates[0].Tokens != 1 || a.Rates[1].Tokens != 64 {
		t.Fatalf("rates %+v", a)
	}
	decode, prefill := a.Rates[0], a.Rates[1]
	if decode.PerSecond != decode.Alone || prefill.PerSecond <= 10*decode.PerSecond || prefill.Alone >= decode.Alone {
		t.Errorf("decode %+v, prefill %+v", decode, prefill)
	}
	if a.Programs.Count != 9 || a.Load.Class != "may fail" {
		t.Errorf("programs %+v, first load %+v", a.Programs, a.Load)
	}
	// 8.03 billion parameters of two bytes, which both functions share; 64 states of 8 x 2048 x 128.
	m := a.Memory
	if m.Stored < 16.0e9 || m.Stored > 16.1e9 || m.States != 64*8*2048*128*2 || m.Weights > m.Stored {
		t.Errorf("memory %+v", m)
	}
}

// TestCheckWithoutStatesHasNoDecoder checks the example model.
func TestCheckWithoutStatesHasNoDecoder(t *testing.T) {
	_, out, _ := call(t, "check", filepath.Join(digits(t), "digits.mlmodelc"), "--advice=false")
	if strings.Contains(out, "language model") {
		t.Errorf("a model without states is a language model:\n%s", out)
	}
}
