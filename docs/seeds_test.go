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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// seed is a numbered table, listing or figure of a chapter that the simulated
// stack is built from.
type seed struct {
	kind    string // Table, Listing or Figure
	chapter int
	number  int
	what    string
	reason  string // why no test names it; empty where one must
}

func (s seed) String() string { return fmt.Sprintf("%s %d.%d", s.kind, s.chapter, s.number) }

// seeds lists them in the order of the chapters.
var seeds = []seed{
	{"Table", 2, 1, "the two phases and their calls", ""},
	{"Listing", 2, 1, "the calls of the compile phase", ""},
	{"Listing", 2, 2, "the calls of the dispatch phase", ""},
	{"Table", 2, 2, "three forms of one program", ""},
	{"Table", 2, 3, "what the stages of a dispatch cost", ""},
	{"Listing", 2, 3, "a state buffer that stays resident", ""},
	{"Listing", 2, 4, "compile once, dispatch many times", ""},

	{"Table", 27, 1, "the three kernel extensions", ""},
	{"Listing", 27, 1, "the user clients, by type", ""},
	{"Listing", 27, 2, "the argument block of a selector call", ""},
	{"Listing", 27, 3, "the two dispatch arrays and their lengths", ""},
	{"Listing", 27, 4, "an element of a dispatch array", ""},
	{"Table", 27, 2, "the selectors of the control client", ""},
	{"Table", 27, 3, "the open handshake", ""},
	{"Table", 27, 4, "the selectors of the direct path", ""},
	{"Table", 27, 5, "methods beyond the selectors", ""},
	{"Listing", 27, 5, "from a submission to the doorbell", ""},
	{"Table", 27, 6, "the request structure", ""},
	{"Listing", 27, 6, "the entitlements of an open", ""},
	{"Table", 27, 7, "the entitlements that the driver enforces", ""},
	{"Table", 27, 8, "the entitlements that the broker enforces", ""},
	{"Table", 27, 9, "device properties", ""},

	{"Table", 29, 1, "task states", ""},
	{"Listing", 29, 1, "the levels of bring-up", ""},
	{"Table", 29, 2, "register apertures", ""},
	{"Table", 29, 3, "scratch handshakes", ""},
	{"Listing", 29, 2, "command classes of the execution loop", ""},
	{"Table", 29, 4, "limits of a procedure call", ""},
	{"Listing", 29, 3, "the guarded doorbell", ""},
	{"Table", 29, 5, "bits of the fabric register", ""},
	{"Table", 29, 6, "properties of the scheduler", ""},
	{"Table", 29, 7, "registers of a task queue", ""},
	{"Table", 29, 8, "states of the execution loop", ""},
	{"Listing", 29, 4, "the way of a statistics buffer", ""},
	{"Table", 29, 9, "the header of the statistics buffer", ""},
	{"Listing", 29, 5, "the null check before the map", ""},

	{"Table", 30, 1, "the command header", ""},
	{"Table", 30, 2, "priority levels and classes", ""},
	{"Figure", 30, 1, "the way of a submission", ""},
	{"Table", 30, 3, "counted fields of a procedure call", ""},
	{"Table", 30, 4, "limits of a call and of a request", ""},
	{"Table", 30, 5, "families of identifiers", ""},
	{"Table", 30, 6, "identifiers of the execution loop", ""},
}

// seedName finds the tables that a test is named for: TestTable29_1,
// ExampleExecutionStream_listing2_3, FuzzTable30_1Header.
var seedName = regexp.MustCompile(`(?i)(table|listing|figure)(\d+)_(\d+)`)

// seedTests returns the tests that name a seed, as "package Test", in order.
func seedTests(root string) (map[string][]string, error) {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
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
			for _, m := range seedName.FindAllStringSubmatch(f.Name.Name, -1) {
				key := strings.ToLower(m[1]) + " " + m[2] + "." + m[3]
				found[key] = append(found[key], "`"+filepath.ToSlash(dir)+"` "+f.Name.Name)
			}
		}
		return nil
	})
	for _, t := range found {
		slices.Sort(t)
	}
	return found, err
}

// runs reports whether go test runs a function of this name.
func runs(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Benchmark")
}

func writeSeeds(w *bytes.Buffer) {
	found, err := seedTests("..")
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	head(w, "chapter's", "what it tells", "package and test")
	for _, s := range seeds {
		tests := found[strings.ToLower(s.String())]
		cell := strings.Join(tests, "; ")
		if s.reason != "" {
			cell = strings.TrimPrefix(cell+"; no test of its own: "+s.reason, "; ")
		}
		row(w, s.String(), s.what, cell)
	}
}

// TestSeeds: every table, listing and figure has a test that names it, or a
// reason, and no test names one that there is not.
func TestSeeds(t *testing.T) {
	found, err := seedTests("..")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	chapters := map[string]bool{}
	for _, s := range seeds {
		key := strings.ToLower(s.String())
		if known[key] {
			t.Errorf("%s is listed twice", s)
		}
		known[key] = true
		chapters[fmt.Sprint(s.chapter)] = true
		if len(found[key]) == 0 && s.reason == "" {
			t.Errorf("%s (%s): no test names it", s, s.what)
		}
	}
	for key, tests := range found {
		chapter, _, _ := strings.Cut(strings.Fields(key)[1], ".")
		if chapters[chapter] && !known[key] {
			t.Errorf("%v: the chapter has no %s", tests, key)
		}
	}
}

// TestSeedsComplete compares the list with the chapters themselves: a caption
// opens a line of them.
func TestSeedsComplete(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "seeds")
	caption := regexp.MustCompile(`(?m)^(Table|Listing|Figure) (\d+)\.(\d+)\.`)
	var want []string
	for _, chapter := range []string{"ch02-execution-model", "ch27-kernel-driver", "ch29-firmware", "ch30-command-protocol"} {
		b, err := os.ReadFile(filepath.Join(dir, chapter+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range caption.FindAllSubmatch(b, -1) {
			want = append(want, fmt.Sprintf("%s %s.%s", m[1], m[2], m[3]))
		}
	}
	var got []string
	for _, s := range seeds {
		got = append(got, s.String())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the list has %v\nthe chapters have %v", got, want)
	}
}
