package verify

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// checkedGoldens are the golden programs of passes with statements that are checked by samples, with the reason.
var checkedGoldens = map[string]string{
	"canonicalise-whole": "elements do not say that a number is whole, so arithmetic of integers in fp16 has no law",
}

// TestGoldenProgramsOfPassesAreProved proves the golden programs of all passes over the field: a pass that rewrites
// operations in a way for which there is no law makes proofs weaker, and fails here. Each pass that changes operations
// has a golden program that it changes.
func TestGoldenProgramsOfPassesAreProved(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "passes", "testdata", "golden", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	changed := map[string]bool{}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(ar.Files, func(f txtar.File) bool { return f.Name == "error" }) {
				t.Skip("passes refuse it")
			}
			o, of := compile.Options{Target: target.H13}, ""
			first, _, _ := strings.Cut(string(ar.Comment), "\n")
			for _, w := range strings.Fields(first) {
				switch k, v, _ := strings.Cut(w, "="); k {
				case "precision":
					o.Precision = v
				case "place":
					o.Place = v
				case "func":
					of = v
				}
			}
			program := func() *ir.Program {
				p, err := ir.Parse("in", ar.Files[0].Data, nil)
				if err != nil {
					t.Fatal(err)
				}
				if of != "" {
					p.Funcs = []*ir.Func{p.Func(of)}
				}
				return p
			}
			var before []byte
			_, err = passes.Run(t.Context(), program(), passes.Options{Target: target.H13, Precision: o.Precision,
				Place: o.Place, Accept: lower.NewAcceptor(target.H13, nil).Accept, CanFuse: lower.CanFuse,
				Observe: func(pass string, p *ir.Program) {
					var b bytes.Buffer
					if err := ir.Print(&b, p); err != nil {
						t.Error(err)
					}
					changed[pass] = changed[pass] || before != nil && !bytes.Equal(b.Bytes(), before)
					before = b.Bytes()
				}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := compile.All(t.Context(), program(), o)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Prove(t.Context(), r, prove.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			why, proved := checkedGoldens[name], res.Verdict == prove.Proved
			for _, f := range res.Functions {
				proved = proved && f.Source.Verdict == prove.Proved
			}
			if proved == (why != "") || !res.Concluded() {
				var b strings.Builder
				res.Text(&b, prove.TextOptions{All: true})
				t.Errorf("want proved, except where %q\n%s", why, b.String())
			}
		})
	}
	for _, p := range passes.List {
		// The first pass has nothing before it, and keep-reference keeps a copy.
		if !changed[p.Name] && !p.Finds && p.Name != "select-function" && p.Name != "keep-reference" {
			t.Errorf("no golden program is changed by pass %s", p.Name)
		}
	}
}
