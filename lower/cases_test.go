package lower

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

// recordedCase is a row of testdata/cases.tsv.
type recordedCase struct{ name, published, shared string }

func recordedCases(t *testing.T) []recordedCase {
	text, err := os.ReadFile("testdata/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []recordedCase
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || f[0] == "case" {
			continue
		}
		if len(f) != 3 || f[1] == "" || f[2] != "yes" && f[2] != "no" {
			t.Fatalf("testdata/cases.tsv: %q: want case, folder, and yes or no", line)
		}
		out = append(out, recordedCase{f[0], f[1], f[2]})
	}
	return out
}

// caseWord is a word that may name a case, with the word case before it if there is one.
var caseWord = regexp.MustCompile(`([Cc]ase )?\b([A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9.]+)+)\b`)

// TestCommentsNameRecordedCases checks that comments write "case" before the name of a recorded case, and that
// testdata/cases.tsv has a row for each such name and no others.
func TestCommentsNameRecordedCases(t *testing.T) {
	known, named := map[string]bool{}, map[string]bool{}
	for _, c := range recordedCases(t) {
		known[c.name] = true
	}
	files, _ := filepath.Glob("*.go")
	below, _ := filepath.Glob("td/*.go")
	for _, file := range append(files, below...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		comments(t, file, func(at token.Position, text string) {
			for _, m := range caseWord.FindAllStringSubmatch(text, -1) {
				name := m[2]
				switch named[name] = true; {
				case known[name] && m[1] == "":
					t.Errorf("%s: %s: write case before it", at, name)
				case !known[name] && len(ir.Forms(name)) == 0:
					t.Errorf("%s: %s is neither an operation nor a case of testdata/cases.tsv", at, name)
				}
			}
		})
	}
	for name := range known {
		if !named[name] {
			t.Errorf("testdata/cases.tsv: no comment names %s", name)
		}
	}
}

// comments calls f with the text of every group of comments of a file, on one line.
func comments(t *testing.T, file string, f func(at token.Position, text string)) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range parsed.Comments {
		f(set.Position(group.Pos()), strings.Join(strings.Fields(group.Text()), " "))
	}
}

// TestRecordedCasesAreShared checks which rows of testdata/cases.tsv ../shared has.
func TestRecordedCasesAreShared(t *testing.T) {
	folder := filepath.Join(shareddir.Find(t), "oracles", "h13")
	for _, c := range recordedCases(t) {
		_, err := os.Stat(filepath.Join(folder, c.name+".json"))
		if exists := err == nil; exists != (c.shared == "yes") {
			t.Errorf("testdata/cases.tsv: %s: shared is %s, but %s has it: %v", c.name, c.shared, folder, exists)
		}
	}
}
