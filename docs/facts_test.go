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
)

// factsDir has a script for each chapter. TestFacts of cmd/zinc/cli runs them. A fact is a comment of a script:
//
//	# fact: Table 29.1: a task is RUNNABLE, SUSPENDED, WAITING, SEMWAIT or BLOCKED
//	# test: runtime/sim/stack TestTasksOfTheDeviceChangeTheirStates
//	stdout 'idle task: WAITING'
//
// The first words are its place in the chapter. Lines "test" name a test that proves it; so does a test whose own
// comment names the table, listing or figure. A line "differs" has the first two words of the row of deviations.md that
// says how zinc differs. The lines that follow check what the last command printed: that command shows the fact.
const factsDir = "../cmd/zinc/cli/testdata/facts"

// fact is a statement of a chapter.
type fact struct {
	chapter int
	place   string // a section, table, listing or figure
	what    string
	command string // that shows it
	tests   []string
	differs []string // subjects of rows of deviations.md
	line    string   // place in the script, for errors
}

var (
	factLine    = regexp.MustCompile(`^# (fact|test|differs): (.+)$`)
	commandLine = regexp.MustCompile(`^(?:status \d+|exec) (.+)$`)
	checkLine   = regexp.MustCompile(`^(?:! )?(?:stdout|stderr|grep|cmp|same|exists) `)
	// deviation is a row of deviations.md about a chapter.
	deviation = regexp.MustCompile(`(?m)^\| (\d+, [^|]+) \| `)
	// numbered is a place that is a numbered table, listing or figure; a test's comment names it with a period.
	numbered = regexp.MustCompile(`^(Table|Listing|Figure) (\d+)\.(\d+)$`)
)

// numbers has the last table, listing and figure of each chapter.
var numbers = map[int]map[string]int{
	2:  {"Table": 3, "Listing": 4},
	23: {"Table": 14, "Listing": 6, "Figure": 1},
	27: {"Table": 9, "Listing": 6},
	29: {"Table": 9, "Listing": 5},
	30: {"Table": 6, "Figure": 1},
}

// readFacts reads the facts of all scripts, in the order of the chapters.
func readFacts() ([]*fact, error) {
	var facts []*fact
	for _, chapter := range []int{2, 23, 27, 29, 30} {
		name := filepath.Join(factsDir, fmt.Sprintf("chapter%02d.txtar", chapter))
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		script, _, _ := strings.Cut(string(b), "\n-- ")
		command := ""
		var at *fact
		for i, line := range strings.Split(script, "\n") {
			place := fmt.Sprintf("%s:%d", filepath.Base(name), i+1)
			if m := commandLine.FindStringSubmatch(line); m != nil {
				command = m[1]
			}
			if at != nil && at.command == "" && checkLine.MatchString(line) {
				at.command = command
			}
			m := factLine.FindStringSubmatch(line)
			switch {
			case m == nil:
			case m[1] == "fact":
				where, what, ok := strings.Cut(m[2], ": ")
				if !ok {
					return nil, fmt.Errorf("%s: want a place in the chapter, a colon and a statement", place)
				}
				at = &fact{chapter: chapter, place: where, what: what, line: place}
				facts = append(facts, at)
			case at == nil || at.command != "":
				return nil, fmt.Errorf("%s: want this line after a fact and before its checks", place)
			case m[1] == "test":
				at.tests = append(at.tests, m[2])
			default:
				at.differs = append(at.differs, m[2])
			}
		}
	}
	return facts, nil
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
func (f *fact) proofs(named map[string][]string) []string {
	tests := append([]string(nil), f.tests...)
	for _, t := range named[f.place] {
		if !slices.Contains(tests, t) {
			tests = append(tests, t)
		}
	}
	return tests
}

func writeFacts(w *bytes.Buffer) {
	facts, err := readFacts()
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
	differ := 0
	for _, f := range facts {
		if len(f.differs) > 0 {
			differ++
		}
	}
	fmt.Fprintf(w, "%d facts; zinc does otherwise in %d of them.\n", len(facts), differ)
	chapter := 0
	for _, f := range facts {
		if f.chapter != chapter {
			chapter = f.chapter
			fmt.Fprintf(w, "\n### Chapter %d\n\n", chapter)
			head(w, "place", "fact", "command", "tests", "differs")
		}
		tests := f.proofs(named)
		for i, t := range tests {
			pkg, name, _ := strings.Cut(t, " ")
			tests[i] = "`" + pkg + "` " + name
		}
		row(w, f.place, f.what, "`"+paths.Replace(f.command)+"`", strings.Join(tests, "; "),
			strings.Join(f.differs, "; "))
	}
}

// TestFactsAreShownAndProved checks that each fact has a command whose output is checked, and tests that exist; that
// the rows of deviations.md which it names exist; and that each table, listing and figure of the chapters is a fact's
// place.
func TestFactsAreShownAndProved(t *testing.T) {
	facts, err := readFacts()
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
	for _, f := range facts {
		places[f.place] = true
		if was, ok := texts[f.what]; ok {
			t.Errorf("%s: the same fact as %s", f.line, was)
		}
		texts[f.what] = f.line
		if f.command == "" {
			t.Errorf("%s: no check follows, of what a command printed", f.line)
		}
		proofs := f.proofs(proving)
		if len(proofs) == 0 {
			t.Errorf("%s: no test proves it", f.line)
		}
		for _, p := range proofs {
			if !all[p] {
				t.Errorf("%s: no test %s", f.line, p)
			}
		}
		for _, d := range f.differs {
			named[d] = true
			if !bytes.Contains(deviations, []byte("\n| "+d+" | ")) {
				t.Errorf("%s: deviations.md has no row that begins with %q", f.line, d)
			}
		}
		if m := numbered.FindStringSubmatch(f.place); m != nil {
			n, _ := strconv.Atoi(m[3])
			if m[2] != strconv.Itoa(f.chapter) || n < 1 || n > numbers[f.chapter][m[1]] {
				t.Errorf("%s: chapter %d has no %s", f.line, f.chapter, f.place)
			}
		}
	}
	for _, m := range deviation.FindAllSubmatch(deviations, -1) {
		if !named[string(m[1])] {
			t.Errorf("deviations.md has the row %q, which no fact names", m[1])
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
