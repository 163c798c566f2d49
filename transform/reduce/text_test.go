package reduce_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// largest is the model of the corpus with the most statements.
const largest = "parakeet-eou-encoder-1280ms"

// plain prints a program without what writing it as text changes: places in the
// source and in weight files, and the names of constants.
func plain(t *testing.T, p *ir.Program) string {
	t.Helper()
	text, err := unbuild.Program(p, "weights/weight.bin")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := text.WriteWeights(&b); err != nil {
		t.Fatal(err)
	}
	return string(text.MIL) + b.String()
}

// open opens the model in the folder of a MIL text, with weights made where it has
// none.
func open(t *testing.T, text string) *frontend.Model {
	t.Helper()
	m, err := frontend.Open(shareddir.WithWeights(t, shareddir.Find(t), filepath.Dir(text)), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestTextRoundTrip writes every model of the corpus as a folder and as a lone
// text, opens both again, and compares text and weights.
func TestTextRoundTrip(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "corpus", "*", "model.mil"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no models: %v", err)
	}
	for _, f := range files {
		name := filepath.Base(filepath.Dir(f))
		t.Run(name, func(t *testing.T) {
			if name == largest {
				t.Skip("TestLargestModel does it")
			}
			roundTrip(t, open(t, f).Program, "folder.mlmodelc", "lone.mil")
		})
	}
}

// roundTrip writes a program under each of the names and opens it again.
func roundTrip(t *testing.T, p *ir.Program, names ...string) {
	t.Helper()
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	want := plain(t, p)
	for _, to := range names {
		path := filepath.Join(t.TempDir(), to)
		if _, err := reduce.Write(t.Context(), p, path); err != nil {
			t.Fatal(err)
		}
		again, err := frontend.Open(path, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := plain(t, again.Program)
		if err := ir.Verify(again.Program); err != nil {
			t.Error(err)
		}
		again.Close()
		if got != want {
			t.Errorf("%s: the program opened is not the one written", to)
		}
	}
}
