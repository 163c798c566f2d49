package docs

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint"
	"github.com/zinc-compiler/zinc/analysis/reported"
	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documents")

// parts are the generated parts: the file of each and the function that writes it.
var parts = []struct {
	file, name string
	write      func(w *bytes.Buffer)
}{
	{"registers.md", "grades", writeGrades},
	{"registers.md", "groups", writeGroups},
	{"registers.md", "later", writeLater},
	{"registers.md", "fields", writeFields},
	{"registers.md", "blocks", writeBlocks},
	{"registers.md", "new-fields", writeNewFields},
	{"lint.md", "lint-rules", writeLintRules},
	{"lint.md", "lint-unmodelled", writeUnmodelled},
	{"reported.md", "reports", writeReports},
	{"ARCHITECTURE.md", "passes", writePasses},
	{"ARCHITECTURE.md", "rules", writeRules},
	{"ARCHITECTURE.md", "planners", writePlanners},
	{"ARCHITECTURE.md", "reductions", writeReductions},
	{"ARCHITECTURE.md", "recipes", writeRecipes},
	{"ARCHITECTURE.md", "walls", writeWalls},
	{"ARCHITECTURE.md", "statuses", writeStatuses},
	{"seeds-coverage.md", "facts", writeFacts},
	{"cost.md", "costs", writeCosts},
	{"cost.md", "comparisons", writeComparisons},
	{"cost.md", "rates", writeRates},
	{"cost.md", "errors", writeErrors},
	{"cost.md", "bands", writeBands},
	{"cost.md", "points", writePoints},
	{"cost.md", "budgets", writeBudgets},
	{"coreml.md", "coreml-rules", writeCoreMLRules},
	{"coreml.md", "coreml-changes", writeCoreMLChanges},
	{"coreml.md", "coreml-limits", writeCoreMLLimits},
	{"coreml.md", "coreml-refusals", writeCoreMLRefusals},
	{"coreml.md", "coreml-rates", writeCoreMLRates},
	{"json.md", "json", writeJSONShapes},
	{"cost.md", "report-formats", writeReportFormats},
	{"broker.md", "entitlements", writeEntitlements},
	{"broker.md", "tiers", writeTiers},
	{"broker.md", "methods", writeMethods},
	{"broker.md", "qos", writeQoS},
}

// TestGenerated compares every generated part with the tables in the code.
func TestGenerated(t *testing.T) {
	for _, p := range parts {
		var want bytes.Buffer
		p.write(&want)
		src, err := os.ReadFile(p.file)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := replace(src, p.name, want.Bytes())
		switch {
		case err != nil:
			t.Errorf("%s: %v", p.file, err)
		case bytes.Equal(got, src):
		case *update:
			if err := os.WriteFile(p.file, got, 0o666); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s: the part %q is out of date; run go generate ./docs", p.file, p.name)
		}
	}
}

// replace returns src with the text between the two lines that mark a part
// replaced by body.
func replace(src []byte, name string, body []byte) ([]byte, error) {
	open, end := []byte("<!-- generated: "+name+";"), []byte("<!-- end: "+name+" -->\n")
	i := bytes.Index(src, open)
	if i < 0 || bytes.Count(src, open) != 1 {
		return nil, fmt.Errorf("want one line that begins with %q", open)
	}
	n := bytes.IndexByte(src[i:], '\n')
	j := bytes.Index(src, end)
	if n < 0 || j < i+n+1 || bytes.Count(src, end) != 1 {
		return nil, fmt.Errorf("want one line %[2]q after %[1]q", open, end)
	}
	out := append([]byte(nil), src[:i+n+1]...)
	out = append(append(out, '\n'), body...)
	return append(append(out, '\n'), src[j:]...), nil
}

// cell escapes the characters that would end a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func row(w *bytes.Buffer, cells ...string) {
	for i := range cells {
		cells[i] = cell(cells[i])
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

func head(w *bytes.Buffer, cells ...string) {
	row(w, cells...)
	fmt.Fprintln(w, "|"+strings.Repeat(" --- |", len(cells)))
}

// quoted returns names in backquotes, separated by commas.
func quoted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func writeStatuses(w *bytes.Buffer) {
	head(w, "status", "meaning", "for example")
	for _, s := range cli.Statuses {
		row(w, fmt.Sprint(s.Status), s.Meaning, s.Example)
	}
}

func writePasses(w *bytes.Buffer) {
	head(w, "", "pass", "what it does", "why it is here")
	for i, p := range passes.List {
		row(w, fmt.Sprint(i+1), "`"+p.Name+"`", p.Doc, p.Why)
	}
}

// writeLintRules prints the rules of zinc lint, a section each.
func writeLintRules(w *bytes.Buffer) {
	for i, r := range lint.Rules {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "### %s\n\n%s\n\n%s\n\nInstead: %s\n\n"+
			"Source of the figure: %s. Holds for %s. Shown by the %s.\n",
			r.Name, r.Doc, r.Why, r.Instead, r.Source, r.Holds, r.By)
	}
}

// writeReports prints the rules about reported failures, each with its reports.
func writeReports(w *bytes.Buffer) {
	for i, r := range reported.Table() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "### %s\n\nPattern: %s. Effect: %s.\n\n", r.Rule, r.Pattern, r.Effect)
		for _, x := range r.Reports {
			fmt.Fprintf(w, "- [%s](%s), %s: %s.\n", x.ID, x.Link, x.Where(), x.Says)
		}
		switch {
		case r.Recipe != "":
			fmt.Fprintf(w, "\nInstead: %s; recipe `%s` of `zinc explain`.\n", r.Instead, r.Recipe)
		case r.Instead != "":
			fmt.Fprintf(w, "\nInstead: %s.\n", r.Instead)
		}
	}
}

// writeUnmodelled prints the operations that zinc lint judges by their type
// alone.
func writeUnmodelled(w *bytes.Buffer) {
	var names []string
	for _, n := range ir.Names() {
		if !lint.Modelled(ir.Named(n)) {
			names = append(names, n)
		}
	}
	fmt.Fprintln(w, quoted(names)+".")
}

func writeReductions(w *bytes.Buffer) {
	head(w, "", "pass", "what it does", "why it is here")
	for i, p := range reduce.Passes {
		row(w, fmt.Sprint(i+1), "`"+p.Name+"`", p.Doc, p.Why)
	}
}

func writeRecipes(w *bytes.Buffer) {
	head(w, "recipe", "rules", "operations", "what it writes", "may run on the CPU")
	for _, r := range explain.Recipes {
		ops := quoted(names(r.Ops))
		if r.Class != 0 {
			ops = strings.TrimSuffix(r.Class.String()+" operations, "+ops, ", ")
		}
		doc := r.Doc
		if doc == "" {
			doc = r.Writes(r.Ops[0])
		}
		row(w, "`"+r.Name+"`", quoted(r.Rules), ops, doc, quoted(names(r.Host)))
	}
}

func names(os []*ir.Operation) []string {
	ns := make([]string, len(os))
	for i, o := range os {
		ns[i] = o.Name
	}
	return ns
}

func writePlanners(w *bytes.Buffer) {
	head(w, "", "planner", "what it decides", "why it is here")
	for i, p := range lower.Planners {
		row(w, fmt.Sprint(i+1), "`"+p.Name+"`", p.Doc, p.Why)
	}
}

func writeRules(w *bytes.Buffer) {
	head(w, "rule", "operations", "moves data only", "tasks")
	for _, r := range lower.Rules {
		moves := ""
		if r.Moves() {
			moves = "yes"
		}
		row(w, r.Name, quoted(names(r.Ops)), moves, r.Doc)
	}
}
