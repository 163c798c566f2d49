package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/facts"
	"github.com/zinc-compiler/zinc/internal/test/mutants"
)

// deviation is a row of deviations.md about a chapter.
var deviation = regexp.MustCompile(`(?m)^\| (\d+, [^|]+) \| `)

// numbered is a place that is a numbered table, listing or figure; a test's comment names it with a period.
var numbered = regexp.MustCompile(`^(Table|Listing|Figure) (\d+)\.(\d+)$`)

// numbers has the last table, listing and figure of each chapter.
var numbers = map[int]map[string]int{
	2:  {"Table": 3, "Listing": 4},
	23: {"Table": 14, "Listing": 6, "Figure": 1},
	27: {"Table": 9, "Listing": 6},
	29: {"Table": 9, "Listing": 5},
	30: {"Table": 6, "Figure": 1},
}

// readFacts reads the facts of all scripts.
func readFacts() ([]*facts.Fact, error) {
	return facts.Read(filepath.Join("..", filepath.FromSlash(facts.Dir)))
}

// numberedTests returns the tests whose comments have a line such as "// Table 29.1.", as "package Test" by place, and
// all tests of the packages under root.
func numberedTests(root string) (named map[string][]string, all map[string]bool, err error) {
	named, all = map[string][]string{}, map[string]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !runs(f.Name.Name) {
				continue
			}
			test := filepath.ToSlash(dir) + " " + f.Name.Name
			all[test] = true
			if f.Doc == nil {
				continue
			}
			for _, line := range f.Doc.List {
				text, ok := strings.CutSuffix(strings.TrimPrefix(line.Text, "// "), ".")
				if ok && numbered.MatchString(text) {
					named[text] = append(named[text], test)
				}
			}
		}
		return nil
	})
	for _, t := range named {
		slices.Sort(t)
	}
	return named, all, err
}

// runs reports whether go test runs a function of this name.
func runs(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") ||
		strings.HasPrefix(name, "Benchmark")
}

// proofs returns the tests that prove a fact.
func proofs(f *facts.Fact, named map[string][]string) []string {
	tests := append([]string(nil), f.Tests...)
	for _, t := range named[f.Place] {
		if !slices.Contains(tests, t) {
			tests = append(tests, t)
		}
	}
	return tests
}

// statements are the statements of the chapters line by line.
const statements = "testdata/rows.tsv"

// A statement is a line of the file: what the chapter says in a place, what zinc makes of it, and the fact that shows
// it, or the row of deviations.md that says what is otherwise.
type statement struct{ chapter, place, what, status, by string }

// statuses are what zinc makes of a statement: it is in the flow of a command, simplified, or otherwise.
var statuses = []string{"flow", "simplified", "contradicting"}

func readStatements() ([]statement, error) {
	b, err := os.ReadFile(filepath.FromSlash(statements))
	if err != nil {
		return nil, err
	}
	var out []statement
	for n, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 5 || !slices.Contains(statuses, f[3]) {
			return nil, fmt.Errorf("%s:%d: want chapter, place, statement, status and fact or row", statements, n+1)
		}
		out = append(out, statement{chapter: f[0], place: f[1], what: f[2], status: f[3], by: f[4]})
	}
	return out, nil
}

// writeStatements writes how many statements of each chapter have each status.
func writeStatements(w *bytes.Buffer) {
	list, err := readStatements()
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	count := func(chapter, status string) (n int) {
		for _, s := range list {
			if (chapter == "all" || s.chapter == chapter) && (status == "" || s.status == status) {
				n++
			}
		}
		return n
	}
	fmt.Fprintf(w, "\nLine by line the chapters make %d statements ([rows.tsv](%s)). Each is in the flow of a\n"+
		"command, or deviations.md says in what zinc is simpler or does otherwise:\n\n", len(list), statements)
	head(w, "chapter", "statements", "flow", "simplified", "contradicting")
	for _, c := range []string{"2", "23", "27", "29", "30", "all"} {
		cells := []string{c, strconv.Itoa(count(c, ""))}
		for _, s := range statuses {
			cells = append(cells, strconv.Itoa(count(c, s)))
		}
		row(w, cells...)
	}
}

// TestStatementsAreShownOrAdmitted checks that each statement of the chapters is shown by a fact, or has a row in
// deviations.md, and prints how many there are of each status.
func TestStatementsAreShownOrAdmitted(t *testing.T) {
	list, err := readStatements()
	if err != nil {
		t.Fatal(err)
	}
	known, err := readFacts()
	if err != nil {
		t.Fatal(err)
	}
	deviations, err := os.ReadFile("deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range list {
		count[s.status]++
		shown := slices.ContainsFunc(known, func(f *facts.Fact) bool {
			return f.What == s.by && strconv.Itoa(f.Chapter) == s.chapter && f.Command != ""
		})
		switch admitted := bytes.Contains(deviations, []byte("\n| "+s.by+" | ")); {
		case s.status == "flow" && !shown:
			t.Errorf("chapter %s, %s, %q: no fact of the chapter is %q", s.chapter, s.place, s.what, s.by)
		case s.status != "flow" && !admitted:
			t.Errorf("chapter %s, %s, %q: deviations.md has no row %q", s.chapter, s.place, s.what, s.by)
		}
	}
	t.Logf("%d statements: %v", len(list), count)
}

// TestStatementsAreThoseOfTheAudit compares the statements with the tables of the audit.
func TestStatementsAreThoseOfTheAudit(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "audit", "chapters.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(b), "\n## 3.")
	var want []string
	for _, part := range strings.Split(text, "\n### Chapter ")[1:] {
		chapter, rest, _ := strings.Cut(part, "\n")
		for _, line := range strings.Split(rest, "\n") {
			cells := strings.Split(line, "|")
			if len(cells) > 6 && !strings.HasPrefix(line, "|-") && !strings.HasPrefix(line, "| section") {
				want = append(want, chapter+"\t"+strings.TrimSpace(cells[1])+"\t"+strings.TrimSpace(cells[2]))
			}
		}
	}
	list, err := readStatements()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range list {
		got = append(got, s.chapter+"\t"+s.place+"\t"+s.what)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has %d statements, the audit %d, or others", statements, len(got), len(want))
	}
}

func writeFacts(w *bytes.Buffer) {
	list, err := readFacts()
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	named, _, err := numberedTests("..")
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	paths := strings.NewReplacer("$DIGITS/../", "examples/", "$DIGITS", "examples/digits", "$MODELS",
		"runtime/sim/stack/e5rt/testdata")
	differ, mutants := 0, 0
	for _, f := range list {
		mutants += len(f.Mutants)
		if len(f.Differs) > 0 {
			differ++
		}
	}
	fmt.Fprintf(w, "%d facts; zinc does otherwise in %d of them. %d mutants.\n", len(list), differ, mutants)
	writeStatements(w)
	chapter := 0
	for _, f := range list {
		if f.Chapter != chapter {
			chapter = f.Chapter
			fmt.Fprintf(w, "\n### Chapter %d\n\n", chapter)
			head(w, "place", "fact", "command", "tests", "differs")
		}
		tests := proofs(f, named)
		for i, t := range tests {
			pkg, name, _ := strings.Cut(t, " ")
			tests[i] = "`" + pkg + "` " + name
		}
		row(w, f.Place, f.What, "`"+paths.Replace(f.Command)+"`", strings.Join(tests, "; "),
			strings.Join(f.Differs, "; "))
	}
}

// TestFactsAreShownAndProved checks that each fact has a command whose output is checked, and tests that exist; that
// the rows of deviations.md which it names exist; and that each table, listing and figure of the chapters is a fact's
// place.
func TestFactsAreShownAndProved(t *testing.T) {
	list, err := readFacts()
	if err != nil {
		t.Fatal(err)
	}
	proving, all, err := numberedTests("..")
	if err != nil {
		t.Fatal(err)
	}
	deviations, err := os.ReadFile("deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	places, texts, named := map[string]bool{}, map[string]string{}, map[string]bool{}
	for _, f := range list {
		places[f.Place] = true
		if was, ok := texts[f.What]; ok {
			t.Errorf("%s: the same fact as %s", f.Line, was)
		}
		texts[f.What] = f.Line
		if f.Command == "" {
			t.Errorf("%s: no check follows, of what a command printed", f.Line)
		}
		proofs := proofs(f, proving)
		if len(proofs) == 0 {
			t.Errorf("%s: no test proves it", f.Line)
		}
		for _, p := range proofs {
			if !all[p] {
				t.Errorf("%s: no test %s", f.Line, p)
			}
		}
		for _, d := range f.Differs {
			named[d] = true
			if !bytes.Contains(deviations, []byte("\n| "+d+" | ")) {
				t.Errorf("%s: deviations.md has no row that begins with %q", f.Line, d)
			}
		}
		if m := numbered.FindStringSubmatch(f.Place); m != nil {
			n, _ := strconv.Atoi(m[3])
			if m[2] != strconv.Itoa(f.Chapter) || n < 1 || n > numbers[f.Chapter][m[1]] {
				t.Errorf("%s: chapter %d has no %s", f.Line, f.Chapter, f.Place)
			}
		}
	}
	lines, err := readStatements()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range lines {
		named[s.by] = true
	}
	for _, m := range deviation.FindAllSubmatch(deviations, -1) {
		if !named[string(m[1])] {
			t.Errorf("deviations.md has the row %q, which no fact and no statement names", m[1])
		}
	}
	for chapter, kinds := range numbers {
		for kind, last := range kinds {
			for n := 1; n <= last; n++ {
				if place := fmt.Sprintf("%s %d.%d", kind, chapter, n); !places[place] {
					t.Errorf("no fact has the place %s", place)
				}
			}
		}
	}
	for place, tests := range proving {
		m := numbered.FindStringSubmatch(place)
		if chapter, _ := strconv.Atoi(m[2]); numbers[chapter] != nil && !places[place] {
			t.Errorf("%v: the comment names %s, which no fact has", tests, place)
		}
	}
}

// TestMutantsOfFactsAreInTheSource finds the text that each mutant of a fact replaces: one that a change of the source
// has left behind stops the whole list.
func TestMutantsOfFactsAreInTheSource(t *testing.T) {
	list, err := readFacts()
	if err != nil {
		t.Fatal(err)
	}
	var named []mutants.Named
	for _, f := range list {
		for _, m := range f.Mutants {
			named = append(named, mutants.Named(m))
		}
	}
	if _, err := mutants.LoadNamed("..", named); err != nil {
		t.Error(err)
	}
}

// TestNumbersAreThoseOfTheChapters compares the table numbers with the chapters, where a caption opens a line.
func TestNumbersAreThoseOfTheChapters(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "seeds", "ch*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	caption := regexp.MustCompile(`(?m)^(Table|Listing|Figure) (\d+)\.(\d+)\.`)
	got := map[int]map[string]int{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range caption.FindAllStringSubmatch(string(b), -1) {
			chapter, _ := strconv.Atoi(m[2])
			n, _ := strconv.Atoi(m[3])
			if got[chapter] == nil {
				got[chapter] = map[string]int{}
			}
			got[chapter][m[1]] = max(got[chapter][m[1]], n)
		}
	}
	if !reflect.DeepEqual(got, numbers) {
		t.Errorf("the chapters have %v, the test %v", got, numbers)
	}
}
