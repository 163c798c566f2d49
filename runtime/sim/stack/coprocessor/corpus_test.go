package coprocessor

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/target"
)

// corpus are small real models, of one procedure and of several, with and
// without constants and scratch.
var corpus = []string{
	"coremlrs-test-linear", "coremltools-add", "espresso-full-fused", "espresso-fused-ffn", "espresso-fused-qkv",
	"espresso-matmul", "fluid-token-duration", "mnist-cnn-inline", "rb-multifunction-flexible",
	"rb-pipeline-dynamic-relu",
	"silero-v6-fp16", "silero-v6-int8", "DTLN_AEC_128_Part1.mlpackage",
}

// Every procedure of the corpus, and of the containers that Apple's compiler wrote, returns the same bits as the engine
// alone, both at the first call and at a later one that reuses translations.
func TestRealContainersRunOnTheDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("the corpus takes seconds")
	}
	dir := shareddir.Find(t)
	run := func(t *testing.T, container []byte) {
		p, err := loader.Read(container)
		if err != nil {
			t.Fatal(err)
		}
		h := ready(t, nil)
		for i, pr := range p.Procedures() {
			x := h.load(container, i)
			for seed := range uint64(2) {
				x.fill(seed)
				want := x.direct(i)
				hd := x.header()
				hd.ProcedureID = uint32(i)
				h.loop(0x204, hd, x.body())
				if err := h.run(); err != nil {
					t.Fatal(err)
				}
				if n := h.notes(); len(n) != 1 || n[0].status() != StatusOK {
					t.Fatalf("%s: %+v: %v", pr.Name, n, h.d.LastError())
				}
				for k, got := range x.outputs() {
					if !bytes.Equal(got, want[k]) {
						t.Errorf("%s: output %d differs", pr.Name, k)
					}
				}
			}
			hd := x.header()
			h.must("TERMINATE_PROCESS", hd)
			h.must("UNLOAD_AFPP", hd)
			if err := x.l.Close(); err != nil {
				t.Error(err)
			}
		}
		full(t, h.d)
	}
	for _, name := range corpus {
		t.Run(name, func(t *testing.T) {
			m, err := frontend.Open(filepath.Join(dir, "corpus", name), frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := compile.All(context.Background(), m.Program, compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			b, err := hwx.Encode(r.HWX)
			if err != nil {
				t.Fatal(err)
			}
			run(t, b)
		})
	}
	paths, err := filepath.Glob(filepath.Join(dir, "golden", "apple-h13", "*.hwx"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden containers: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			run(t, b)
		})
	}
}
