package lint

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// TestCorpusFindings: every finding on real models is shown by a run, of the whole
// or of the statement alone, and each is run again from what is written.
func TestCorpusFindings(t *testing.T) {
	models := []string{"silero-v6-fp16", "silero-v6-int8", "espresso-sdpa-bwd2"}
	if testing.Short() {
		models = models[:1]
	}
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(shareddir.Find(t), "corpus", name)
			m, err := frontend.Open(path, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := Run(context.Background(), m.Program, Options{Compile: options, Source: m.Source, Work: 4e9})
			if err != nil {
				t.Fatal(err)
			}
			f := r.Functions[0]
			if len(f.Findings) == 0 {
				t.Error("nothing was found")
			}
			b := benchOf(t, path)
			behind := 0
			for _, x := range f.Roots {
				behind += x.Behind
			}
			if behind != f.Unjudged {
				t.Errorf("%d statements behind roots, %d not judged", behind, f.Unjudged)
			}
			for _, x := range f.Findings {
				switch x.State {
				case ShownAlone:
					repeats(t, x.Cut, x.Inputs, x.Local)
				case Shown:
					got, err := b.engine(context.Background(), x.Inputs, x.Evidence.By == ByANE)
					if err != nil {
						t.Fatal(err)
					}
					if g := got[x.Evidence.Output].Const().Floats()[x.Evidence.Index]; !same(g,
						float64(x.Evidence.Engine)) {
						t.Errorf("%s: run again %g, the finding has %+v", x.Statement, g, *x.Evidence)
					}
				default:
					t.Errorf("line %d: %s of %s is %s: %s", x.Line, x.Rule, x.Statement, x.State, x.Note)
				}
			}
		})
	}
}

// benchOf compiles a model again.
func benchOf(t *testing.T, path string) *bench {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	b, err := compiled(context.Background(), m.Program, options, 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
