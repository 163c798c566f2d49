package facts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/facts"
)

// scripts writes scripts of the chapters, of which all but that of chapter 2 are empty, and reads them.
func scripts(t *testing.T, chapter2 string) ([]*facts.Fact, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"chapter02.txtar": chapter2, "chapter23.txtar": "", "chapter27.txtar": "", "chapter29.txtar": "",
		"chapter30.txtar": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return facts.Read(dir)
}

// TestScriptOfAFactHasWhatItReads reads facts and checks the script of one alone: the command that its first check is
// about, what writes the files of that, and nothing else.
func TestScriptOfAFactHasWhatItReads(t *testing.T) {
	list, err := scripts(t, `# Execution model.
status 0 zinc a.mil -o a.hwx
status 0 zinc b.mil -o b.hwx

# fact: Place: one
status 0 zinc load l.json --trace a.trace
stdout 'one'
# fact: Table 2.1: two
# test: pkg TestTwo
# differs: 2, two
# mutant: x/y.go: a < b => a <= b
# mutant: x/y.go: f() =>
stderr 'two'
grep 'three' a.trace
# fact: Place: three
status 1 zinc dump b.e5
stderr 'three'
-- l.json --
{"model": "a.hwx"}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := `status 0 zinc a.mil -o a.hwx
status 0 zinc load l.json --trace a.trace
# fact: Table 2.1: two
# test: pkg TestTwo
# differs: 2, two
# mutant: x/y.go: a < b => a <= b
# mutant: x/y.go: f() =>
stderr 'two'
grep 'three' a.trace
-- l.json --
{"model": "a.hwx"}
`
	two := list[1]
	if got := string(two.Script()); got != want {
		t.Errorf("the script of a fact is\n%s, want\n%s", got, want)
	}
	m := two.Mutants
	if two.Command != "zinc load l.json --trace a.trace" || len(m) != 2 || m[0].New != "a <= b" || m[1].New != "" {
		t.Errorf("read %q with the mutants %q", two.Command, m)
	}
	if got := string(list[2].Script()); !strings.Contains(got, "-o b.hwx") || strings.Contains(got, "-o a.hwx") {
		t.Errorf("the script of a fact about b.e5 is\n%s", got)
	}
}

// TestWrongLinesAreErrors reads scripts with lines in the wrong place or of the wrong form.
func TestWrongLinesAreErrors(t *testing.T) {
	for _, text := range []string{
		"# fact: no place\n",
		"# test: pkg Test\n",
		"status 0 zinc\n# fact: Place: one\nstdout 'x'\n# test: pkg Test\n",
		"# fact: Place: one\n# mutant: x.go: a\n",
	} {
		if _, err := scripts(t, text); err == nil || !strings.HasPrefix(err.Error(), "chapter02.txtar:") {
			t.Errorf("%q: %v, want an error with its line", text, err)
		}
	}
}
