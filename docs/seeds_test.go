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
	{kind: "Table", chapter: 2, number: 1, what: "the two phases and their calls"},
	{kind: "Listing", chapter: 2, number: 1, what: "the calls of the compile phase"},
	{kind: "Listing", chapter: 2, number: 2, what: "the calls of the dispatch phase"},
	{kind: "Table", chapter: 2, number: 2, what: "three forms of one program"},
	{kind: "Table", chapter: 2, number: 3, what: "what the stages of a dispatch cost"},
	{kind: "Listing", chapter: 2, number: 3, what: "a state buffer that stays resident"},
	{kind: "Listing", chapter: 2, number: 4, what: "compile once, dispatch many times"},

	{kind: "Table", chapter: 23, number: 1, what: "six forms of a model"},
	{kind: "Figure", chapter: 23, number: 1, what: "the layers of the program format",
		reason: "a drawing of those of table 23.1"},
	{kind: "Table", chapter: 23, number: 2, what: "the root table of the descriptor"},
	{kind: "Listing", chapter: 23, number: 1, what: "the twelve operation types", reason: "three of the twelve are " +
		"written and run, Cast, AneInference and CpuInference; the others are read and printed, and refused by a run"},
	{kind: "Table", chapter: 23, number: 3, what: "the serializer's methods", reason: "the tables of " +
		"`emit/e5/e5.fbs`, which TestFlatcDecodes reads back"},
	{kind: "Listing", chapter: 23, number: 2, what: "the fields of a tensor descriptor", reason: "named axes and " +
		"strides as listed; dim and stride have the tensor's rank instead of four entries"},
	{kind: "Table", chapter: 23, number: 4, what: "the seven register groups", reason: "groups and counts as listed, " +
		"struct bases eight bytes lower ([registers.md](registers.md))"},
	{kind: "Listing", chapter: 23, number: 3, what: "fields of the task descriptor"},
	{kind: "Table", chapter: 23, number: 5, what: "registers left for the load to fill in"},
	{kind: "Table", chapter: 23, number: 6, what: "the segments of the identity layer"},
	{kind: "Table", chapter: 23, number: 7, what: "its register writes"},
	{kind: "Table", chapter: 23, number: 8, what: "opcode words of three operations", reason: "two of three; the " +
		"word of a product of four tiles differs by the size of its group ([deviations.md](deviations.md))"},
	{kind: "Table", chapter: 23, number: 9, what: "the header of the container"},
	{kind: "Listing", chapter: 23, number: 4, what: "the banner of the build"},
	{kind: "Listing", chapter: 23, number: 5, what: "element types and strides in symbols"},
	{kind: "Table", chapter: 23, number: 10, what: "strides of weight tiles"},
	{kind: "Table", chapter: 23, number: 11, what: "the header of a task and its chain"},
	{kind: "Listing", chapter: 23, number: 6, what: "symbols of shapes"},
	{kind: "Table", chapter: 23, number: 12, what: "the eleven element types of the descriptor"},
	{kind: "Table", chapter: 23, number: 13, what: "operation classes"},
	{kind: "Table", chapter: 23, number: 14, what: "the selectors of the submission interface"},

	{kind: "Table", chapter: 27, number: 1, what: "the three kernel extensions"},
	{kind: "Listing", chapter: 27, number: 1, what: "the user clients, by type"},
	{kind: "Listing", chapter: 27, number: 2, what: "the argument block of a selector call"},
	{kind: "Listing", chapter: 27, number: 3, what: "the two dispatch arrays and their lengths"},
	{kind: "Listing", chapter: 27, number: 4, what: "an element of a dispatch array"},
	{kind: "Table", chapter: 27, number: 2, what: "the selectors of the control client"},
	{kind: "Table", chapter: 27, number: 3, what: "the open handshake"},
	{kind: "Table", chapter: 27, number: 4, what: "the selectors of the direct path"},
	{kind: "Table", chapter: 27, number: 5, what: "methods beyond the selectors"},
	{kind: "Listing", chapter: 27, number: 5, what: "from a submission to the doorbell"},
	{kind: "Table", chapter: 27, number: 6, what: "the request structure"},
	{kind: "Listing", chapter: 27, number: 6, what: "the entitlements of an open"},
	{kind: "Table", chapter: 27, number: 7, what: "the entitlements that the driver enforces"},
	{kind: "Table", chapter: 27, number: 8, what: "the entitlements that the broker enforces"},
	{kind: "Table", chapter: 27, number: 9, what: "device properties"},

	{kind: "Table", chapter: 29, number: 1, what: "task states"},
	{kind: "Listing", chapter: 29, number: 1, what: "the levels of bring-up"},
	{kind: "Table", chapter: 29, number: 2, what: "register apertures"},
	{kind: "Table", chapter: 29, number: 3, what: "scratch handshakes"},
	{kind: "Listing", chapter: 29, number: 2, what: "command classes of the execution loop"},
	{kind: "Table", chapter: 29, number: 4, what: "limits of a procedure call"},
	{kind: "Listing", chapter: 29, number: 3, what: "the guarded doorbell"},
	{kind: "Table", chapter: 29, number: 5, what: "bits of the fabric register"},
	{kind: "Table", chapter: 29, number: 6, what: "properties of the scheduler"},
	{kind: "Table", chapter: 29, number: 7, what: "registers of a task queue"},
	{kind: "Table", chapter: 29, number: 8, what: "states of the execution loop"},
	{kind: "Listing", chapter: 29, number: 4, what: "how a statistics buffer travels"},
	{kind: "Table", chapter: 29, number: 9, what: "the header of the statistics buffer"},
	{kind: "Listing", chapter: 29, number: 5, what: "the null check before the map"},

	{kind: "Table", chapter: 30, number: 1, what: "the command header"},
	{kind: "Table", chapter: 30, number: 2, what: "priority levels and classes"},
	{kind: "Figure", chapter: 30, number: 1, what: "how a submission travels"},
	{kind: "Table", chapter: 30, number: 3, what: "counted fields of a procedure call"},
	{kind: "Table", chapter: 30, number: 4, what: "limits of a call and of a request"},
	{kind: "Table", chapter: 30, number: 5, what: "families of identifiers"},
	{kind: "Table", chapter: 30, number: 6, what: "identifiers of the execution loop"},
}

// seedLine is the line of a test's doc comment that names the table which the test checks, such as "// Table 29.1.".
var seedLine = regexp.MustCompile(`^// (Table|Listing|Figure) (\d+)\.(\d+)\.$`)

// seedTests returns the tests whose comments name a seed, as "package Test", in order.
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
			if !ok || f.Recv != nil || f.Doc == nil || !runs(f.Name.Name) {
				continue
			}
			for _, line := range f.Doc.List {
				if m := seedLine.FindStringSubmatch(line.Text); m != nil {
					key := strings.ToLower(m[1]) + " " + m[2] + "." + m[3]
					found[key] = append(found[key], "`"+filepath.ToSlash(dir)+"` "+f.Name.Name)
				}
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
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") ||
		strings.HasPrefix(name, "Benchmark")
}

func writeSeeds(w *bytes.Buffer) {
	found, err := seedTests("..")
	if err != nil {
		fmt.Fprintln(w, err)
		return
	}
	head(w, "chapter's", "contents", "package and test")
	for _, s := range seeds {
		tests := found[strings.ToLower(s.String())]
		cell := strings.Join(tests, "; ")
		if s.reason != "" {
			cell = strings.TrimPrefix(cell+"; no test of its own: "+s.reason, "; ")
		}
		row(w, s.String(), s.what, cell)
	}
}

// TestSeeds checks that every table, listing and figure has a test that names it, or a
// reason, and that no test names one that does not exist.
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
	for _, chapter := range []string{"ch02-execution-model", "ch23-program-format", "ch27-kernel-driver",
		"ch29-firmware", "ch30-command-protocol"} {
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
