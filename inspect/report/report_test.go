package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/sarif/sariftest"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// compiled compiles a model.
func compiled(t *testing.T, path string, o compile.Options) *compile.Report {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := compile.All(context.Background(), m.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	return r.Report
}

func digits(t *testing.T) *compile.Report {
	t.Helper()
	return compiled(t, filepath.Join("..", "..", "examples", "digits", "digits.mlmodelc"),
		compile.Options{Target: target.H13})
}

// several is a report of three functions, the last without tasks.
func several(t *testing.T) *compile.Report {
	t.Helper()
	return compiled(t, filepath.Join("testdata", "several.mil"), compile.Options{Target: target.H13})
}

// output is a document in one form.
func output(t *testing.T, form string, d *Document) string {
	t.Helper()
	var a, b bytes.Buffer
	if err := Lookup(form).Write(&a, d); err != nil {
		t.Fatal(err)
	}
	if err := Lookup(form).Write(&b, d); err != nil || a.String() != b.String() {
		t.Errorf("%s: written twice it differs, or %v", form, err)
	}
	return a.String()
}

// table reads a CSV as lines by column.
func table(t *testing.T, text string) []map[string]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range rows[1:] {
		m := map[string]string{}
		for i, v := range r {
			m[rows[0][i]] = v
		}
		out = append(out, m)
	}
	return out
}

// thousandths reads a number of at most three decimals exactly.
func thousandths(t *testing.T, s string) int64 {
	t.Helper()
	if s == "" {
		return 0
	}
	whole, part, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole+(part + "000")[:3], 10, 64)
	if err != nil || len(part) > 3 {
		t.Fatalf("%q is no number of three decimals", s)
	}
	return n
}

// addsUp checks that the lines of the per-layer CSV add up to the summary.
func addsUp(t *testing.T, d *Document) {
	t.Helper()
	layers, summary := table(t, output(t, "csv", d)), table(t, output(t, "summary", d))
	all := summary[len(summary)-1]
	sum := func(column string, want func(l map[string]string) bool) (n int64) {
		for _, l := range layers {
			if want == nil || want(l) {
				n += thousandths(t, l[column])
			}
		}
		return n
	}
	on := func(unit string) func(l map[string]string) bool {
		return func(l map[string]string) bool { return l["kind"] == KindOp && l["unit"] == unit }
	}
	bound := func(kind string) func(l map[string]string) bool {
		return func(l map[string]string) bool { return l["kind"] == kind }
	}
	for _, c := range []struct {
		total string
		got   int64
	}{
		{"tasks", sum("tasks", nil)}, {"cycles", sum("cycles", nil)}, {"us", sum("us", nil)},
		{"dma_bytes", sum("dma_bytes", nil)},
		{"weight_bytes", sum("weight_bytes", nil)}, {"padding_bytes", sum("padding_bytes", nil)},
		{"engine_macs", sum("macs", on("engine"))}, {"cpu_macs", sum("macs", on("cpu"))},
	} {
		if want := thousandths(t, all[c.total]); c.got != want {
			t.Errorf("the lines' %s add up to %d thousandths, the summary says %d", c.total, c.got, want)
		}
	}
	peak, ops := int64(0), map[string]int{}
	for _, l := range layers {
		peak = max(peak, thousandths(t, l["l2_peak_bytes"]))
		if l["kind"] == KindOp {
			ops[l["unit"]]++
		} else {
			ops[l["kind"]]++
		}
	}
	if want := thousandths(t, all["l2_peak_bytes"]); peak != want {
		t.Errorf("the largest peak is %d, the summary says %d", peak, want)
	}
	for total, unit := range map[string]string{
		"engine_ops":   "engine",
		"cpu_ops":      "cpu",
		"transfer_ops": "transfer",
		"dispatches":   KindDispatch,
	} {
		if all[total] != strconv.Itoa(ops[unit]) {
			t.Errorf("%d lines of %s, the summary says %s", ops[unit], unit, all[total])
		}
	}
	if own := thousandths(t, all["dispatch_us"]) + thousandths(t, all["io_us"]); own != sum("us", bound(KindDispatch)) {
		t.Errorf("the dispatches take %d thousandths, the summary says %d", sum("us", bound(KindDispatch)), own)
	}
	parts := thousandths(t, all["dispatch_us"]) + thousandths(t, all["io_us"]) + thousandths(t, all["macs_us"]) +
		thousandths(t, all["dma_us"]) + thousandths(t, all["l2_us"])
	if parts != thousandths(t, all["us"]) {
		t.Errorf("the terms add up to %d thousandths of %s us", parts, all["us"])
	}
}

func TestLayersAddUpToTheSummary(t *testing.T) {
	r := digits(t)
	addsUp(t, &Document{Report: r})
	s := several(t)
	if len(s.Functions) != 3 || s.Dispatches < 3 || s.CPUOps == 0 {
		t.Fatalf("%d functions, %d dispatches, %d operations on the CPU", len(s.Functions), s.Dispatches, s.CPUOps)
	}
	addsUp(t, &Document{Report: s})
	if n := len(table(t, output(t, "summary", &Document{Report: s}))); n != 4 {
		t.Errorf("the summary of three functions has %d lines, want 4", n)
	}
}

func TestLayersOfRealModelsAddUpToTheSummary(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "corpus")
	for _, name := range []string{"silero-v6-fp16", "silero-v6-int8", "espresso-full-fused", "mnist-cnn-inline",
		"rb-multifunction-flexible"} {
		for _, precision := range []string{"declared", "fp16"} {
			t.Run(name+"/"+precision, func(t *testing.T) {
				addsUp(t, &Document{Report: compiled(t, filepath.Join(dir, name),
					compile.Options{Target: target.H13, Precision: precision})})
			})
		}
	}
}

// hostile returns a document with names that are markup in the output formats.
func hostile(t *testing.T) (*Document, string) {
	const name = "<script>alert(1)</script>|`x`,\"=1\n![a](http://b)"
	r := digits(t)
	r.Ops[0].Name, r.Ops[0].Op = name, name
	r.Ops[1].Unit, r.Ops[1].Reason, r.Ops[1].Op = "cpu", name, name
	r.Function = name
	return &Document{
		Model:  name,
		Report: r,
		Violations: []Violation{{Budget: "max-dispatches", Value: 2, Limit: 1, Unit: "dispatches",
			Contributors: []Contributor{{What: name, Name: name}}}},
	}, name
}

// element returns what is between the tags of the first element that starts with open.
func element(t *testing.T, text, open, end string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, open)
	body, _, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("no %s", open)
	}
	return body
}

func TestHTMLIsWellFormedAndSelfContained(t *testing.T) {
	bad, _ := hostile(t)
	for _, d := range []*Document{{Model: "m.mil", Report: digits(t)}, {Report: several(t)}, bad,
		{Report: new(compile.Report)}} {
		text := output(t, "html", d)
		_, body, _ := strings.Cut(text, "\n") // without the document type
		script := element(t, body, "<script>", "</script>")
		body = strings.Replace(body, script, "", 1) // which is not XML
		x := xml.NewDecoder(strings.NewReader(body))
		x.Strict, x.AutoClose, x.Entity = false, []string{"meta", "input"}, xml.HTMLEntity
		scripts, policy := 0, ""
		for {
			tok, err := x.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			el, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			switch el.Name.Local {
			case "script":
				scripts++
			case "img", "link", "iframe", "object", "embed":
				t.Errorf("an element <%s>", el.Name.Local)
			}
			for _, a := range el.Attr {
				local := strings.HasPrefix(a.Value, "#")
				switch {
				case a.Name.Local == "src" || a.Name.Local == "href" && !local || strings.HasPrefix(a.Name.Local, "on"):
					t.Errorf("<%s %s=%q>", el.Name.Local, a.Name.Local, a.Value)
				case strings.Contains(a.Value, "default-src"):
					policy = a.Value
				}
			}
		}
		// The policy lets the page's own script run and no other: a name that is markup cannot.
		digest := sha256.Sum256([]byte(script))
		if scripts != 2 || !strings.Contains(policy, base64.StdEncoding.EncodeToString(digest[:])) ||
			strings.Contains(policy, "script-src 'unsafe-inline'") {
			t.Errorf("%d scripts, policy %s", scripts, policy)
		}
		if own := strings.ReplaceAll(script, svgName, "") + element(t, body, "<style>", "</style>"); strings.
			Contains(own, "://") || strings.Contains(own, "url(") {
			t.Error("the page refers to something outside it")
		}
	}
}

// svgName is the namespace of SVG, the only address in the page's script: it is a name and is not fetched.
const svgName = `"http://www.w3.org/2000/svg"`

// TestHTMLHasEveryOperationAndItsTime reads the data that the page's script draws.
func TestHTMLHasEveryOperationAndItsTime(t *testing.T) {
	bad, _ := hostile(t)
	for _, d := range []*Document{{Report: digits(t)}, {Report: several(t)}, bad} {
		text := output(t, "html", d)
		var data Drawing
		if err := json.Unmarshal([]byte(element(t, text, `id="data">`, "</script>")), &data); err != nil {
			t.Fatal(err)
		}
		all := int64(0)
		for i, o := range data.Ops {
			want := d.Report.Ops[i]
			if o.Name != want.Name || cost.Time(o.Time) != want.Time() || o.Unit != want.Unit {
				t.Errorf("operation %d is %+v, want %+v", i, o, want)
			}
			all += o.Time
		}
		for _, o := range data.Other {
			all += o.Time
		}
		if len(data.Ops) != len(d.Report.Ops) || cost.Time(all) != d.Report.CallTime() || data.Total != all {
			t.Errorf("%d operations take %d ns, want %d and %s us", len(data.Ops), all, len(d.Report.Ops),
				d.Report.CallTime())
		}
		end := 0.0
		for _, s := range data.Spans {
			end = max(end, s[1].(float64)+s[2].(float64))
		}
		if end != float64(data.Total) {
			t.Errorf("the timeline ends at %g ns, want %d", end, data.Total)
		}
	}
}

// TestHTMLOfManyOperationsIsSmall compiles no model: the report has 1200 operations with long names.
func TestHTMLOfManyOperationsIsSmall(t *testing.T) {
	r := digits(t)
	for i := len(r.Ops); i < 1200; i++ {
		o := r.Ops[i%8]
		o.Name = fmt.Sprintf("%s_%s_%d", o.Name, strings.Repeat("long", 10), i)
		o.Scope = fmt.Sprintf("encoder/layers/%d/self_attention_output", i/70)
		o.Reason = strings.Repeat("because ", 12)
		r.Ops = append(r.Ops, o)
		x := r.TaskList[i%8]
		x.OpIndex = i
		r.TaskList = append(r.TaskList, x, x)
	}
	if n := len(output(t, "html", &Document{Report: r})); n > 2<<20 {
		t.Errorf("%d bytes", n)
	}
}

// TestMarkdownEscapesNames also checks that every line of a table has all its cells.
func TestMarkdownEscapesNames(t *testing.T) {
	d, name := hostile(t)
	text := output(t, "markdown", d)
	for _, bad := range []string{"<script", "![a]", "`x`", name} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in\n%s", bad, text)
		}
	}
	for _, want := range []string{"1 budget exceeded", "On the CPU", "Largest costs", "| 213 us (200 to 240, M1) |",
		"ordering, not a promise"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	cells := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells != 0 && n != cells {
			t.Errorf("%d cells, the table has %d: %s", n, cells, line)
		}
		cells = n
	}
	if whole := output(t, "markdown", &Document{Report: digits(t)}); !strings.Contains(whole,
		"Nothing runs on the CPU.") {
		t.Errorf("a model on the engine alone:\n%s", whole)
	}
}

func TestJSONRoundTrips(t *testing.T) {
	r := digits(t)
	var back struct {
		Model    string
		Tasks    int
		Estimate struct {
			US    float64 `json:"us"`
			Terms map[string]float64
			Known string `json:"known_error"`
		}
		Violations []Violation
	}
	d := &Document{Model: "m.mil", Report: r, Violations: Judge(r, nil, map[string]float64{"max-dispatches": 0})}
	if err := json.Unmarshal([]byte(output(t, "json", d)), &back); err != nil {
		t.Fatal(err)
	}
	if back.Model != "m.mil" || back.Tasks != r.Tasks || back.Estimate.US != 212.991 || back.Estimate.Known == "" ||
		len(back.Violations) != 1 || back.Violations[0].Value != 1 {
		t.Errorf("%+v", back)
	}
	if b, err := json.Marshal(Violation{Value: Number(math.Inf(1))}); err != nil ||
		!bytes.Contains(b, []byte(`"value":"+Inf"`)) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestSARIFHasAFindingForEachOperationOnTheCPU(t *testing.T) {
	r := several(t)
	limits := map[string]float64{
		"max-dispatches":   1,
		"max-estimate-us":  1,
		"max-weight-bytes": 0,
		"min-engine-macs":  100,
	}
	d := &Document{Model: "several.mil", Report: r, Violations: Judge(r, nil, limits)}
	text := output(t, "sarif", d)
	if err := sariftest.Check([]byte(text)); err != nil {
		t.Error(err)
	}
	for id := range limits {
		if !strings.Contains(text, `"ruleId": "budget-`+id+`"`) {
			t.Errorf("no finding of %s in\n%s", id, text)
		}
	}
	if n := strings.Count(text, `"level": "note"`); n == 0 || n > r.CPUOps {
		t.Errorf("%d notes for %d operations on the CPU", n, r.CPUOps)
	}
}

func TestEveryFormatWritesOutput(t *testing.T) {
	d := &Document{Model: "m", Report: digits(t)}
	for _, n := range Names() {
		if Lookup(n).Doc == "" || len(output(t, n, d)) < 100 {
			t.Errorf("form %s", n)
		}
	}
	if Lookup("none") != nil {
		t.Error("there is a format called none")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
