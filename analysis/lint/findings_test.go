package lint

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// TestFindingsOnRealModelsAreShown checks that every finding on real models is shown by a run, of the whole or of the
// statement alone, and runs each again from the written files.
func TestFindingsOnRealModelsAreShown(t *testing.T) {
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
			pair := compiledAgain(t, path)
			behind := 0
			for _, x := range f.Roots {
				behind += x.Behind
			}
			if behind != f.Unjudged {
				t.Errorf("%d statements that depend on roots, %d not judged", behind, f.Unjudged)
			}
			for _, x := range f.Findings {
				switch x.State {
				case ShownAlone:
					repeats(t, x.Cut, x.Inputs, x.Local)
				case Shown:
					if g := engineAgain(t, pair, x.Inputs, x.Evidence); !same(g, float64(x.Evidence.Engine)) {
						t.Errorf("%s: run again %g, the finding has %+v", x.Statement, g, *x.Evidence)
					}
				default:
					t.Errorf("line %d: %s of %s is %s: %s", x.Line, x.Rule, x.Statement, x.State, x.Note)
				}
			}
		})
	}
}

// compiledAgain compiles a model.
func compiledAgain(t *testing.T, path string) *compile.Result {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	r, err := compile.All(t.Context(), m.Program, options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
