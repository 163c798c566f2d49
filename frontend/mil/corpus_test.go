package mil

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// realTexts calls f with every MIL text of the shared folder: all models, all
// recorded cases, and one conformance case in sample.
func realTexts(t testing.TB, sample int, f func(name string, src []byte)) {
	t.Helper()
	dir := shareddir.Find(t)
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	glob := func(pattern string) []string {
		names, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			t.Fatalf("no files %s in %s", pattern, dir)
		}
		return names
	}
	for _, p := range glob("corpus/*/model.mil") {
		f(p, read(p))
	}
	for i, p := range glob("conformance/cases/*/model.mil") {
		if i%sample == 0 {
			f(p, read(p))
		}
	}
	for _, p := range glob("oracles/h13/*.json") {
		var c struct {
			MIL string `json:"mil"`
		}
		if err := json.Unmarshal(read(p), &c); err != nil {
			t.Fatal(err)
		}
		f(p, []byte(c.MIL))
	}
}

func mustParse(t testing.TB, name string, src []byte) *Program {
	t.Helper()
	p, l := Parse(name, src)
	if l.HasErrors() || l.Warnings() > 0 {
		var b strings.Builder
		l.WriteText(&b)
		t.Fatalf("%s", b.String())
	}
	return p
}

// roundTrip parses, prints and parses again, and returns the printed text.
func roundTrip(t testing.TB, name string, p *Program) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Print(&b, p); err != nil {
		t.Fatal(err)
	}
	q, l := Parse(name, b.Bytes())
	if err := l.Err(); err != nil {
		t.Fatalf("printed text does not parse: %v", err)
	}
	if !equal(p, q) {
		t.Fatalf("%s: the printed text parses to a different program", name)
	}
	return b.Bytes()
}

// TestRealTextsAreParsedAndPrinted parses every real text, prints it, and expects the same tree again. Texts in the
// compiler's own layout must be printed byte for byte.
func TestRealTextsAreParsedAndPrinted(t *testing.T) {
	sample := 1
	if testing.Short() {
		sample = 10
	}
	n, exact := 0, 0
	realTexts(t, sample, func(name string, src []byte) {
		p := mustParse(t, name, src)
		if len(p.Funcs) == 0 {
			t.Errorf("%s: no functions", name)
		}
		out := roundTrip(t, name, p)
		if bytes.Equal(bytes.TrimSpace(out), bytes.TrimSpace(src)) {
			exact++
		}
		n++
	})
	t.Logf("%d texts, %d printed byte for byte", n, exact)
	if sample == 1 && exact < n*8/10 { // the share is not significant in a short sample
		t.Errorf("only %d of %d texts are printed byte for byte", exact, n)
	}
}
