package lint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// repeats writes a cut model, opens and compiles the written files, and runs the inputs: the engine must compute the
// number in the evidence.
func repeats(t *testing.T, c *witness.Cut, in tensors, e *witness.Evidence) {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "cut", "model.mil")
	if err := os.Mkdir(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	text, err := reduce.Write(ctx, c.Program, path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text.MIL)
	}
	defer m.Close()
	r, err := compile.All(ctx, m.Program, options)
	if err != nil {
		t.Fatalf("%v\n%s", err, text.MIL)
	}
	if g := engineAgain(t, r, in, e); !same(g, float64(e.Engine)) {
		t.Errorf("running the written model returns %g, the finding has %+v\n%s", g, *e, text.MIL)
	}
}

// engineAgain runs inputs on a pair as the search did, and returns the element that the evidence names.
func engineAgain(t *testing.T, r *compile.Result, in tensors, e *witness.Evidence) float64 {
	t.Helper()
	var got tensors
	var err error
	if e.By == witness.ByANE {
		got, err = interp.Run(t.Context(), r.Reference, in, interp.Options{Numerics: numerics.ANE})
	} else {
		machine, oerr := verify.Open(r)
		if oerr != nil {
			t.Fatal(oerr)
		}
		got, err = machine.Run(t.Context(), in, sim.Options{Numerics: numerics.ANE})
	}
	if err != nil {
		t.Fatal(err)
	}
	y, ok := got[e.Output]
	if !ok {
		t.Fatalf("no output %q", e.Output)
	}
	return y.Const().Floats()[e.Index]
}

// TestEveryRuleIsShownAlone checks for each rule's model that the statement is also shown alone, without running the
// whole model, and that the written cut model shows it again.
func TestEveryRuleIsShownAlone(t *testing.T) {
	for _, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			a, err := txtar.ParseFile(filepath.Join("testdata", "rules", rule.Name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			_, words, _ := strings.Cut(string(a.Comment), "ranges ")
			words, _, _ = strings.Cut(words, "\n")
			r, err := compile.All(context.Background(), openText(t, a.Files[0].Data).Program, options)
			if err != nil {
				t.Fatal(err)
			}
			an := analyse(r.Reference, parseRanges(t, strings.Fields(words))).calmly()
			found, _ := suspects(an)
			seen := false
			for _, f := range found {
				if f.rule.Name != rule.Name {
					continue
				}
				seen = true
				ws, err := witness.Search(context.Background(), witness.Subject{Analysis: an},
					[]*witness.Suspicion{&f.Suspicion}, witness.Options{
						Compile: options,
						Judge:   judge,
						Work:    DefaultWork,
						Workers: 1,
						Alone:   true,
					})
				if err != nil {
					t.Fatal(err)
				}
				p := ws[0]
				if p.Cut == nil {
					t.Fatalf("not shown alone%s", p.Note)
				}
				t.Logf("%d statements, %s; %+v; %s", p.Cut.Statements, origin(p.Cut), *p.Local, p.Input.How)
				if p.Local.By != rule.By {
					t.Errorf("shown by %s, the rule states %s", p.Local.By, rule.By)
				}
				for _, op := range p.Cut.Operands {
					if op.Used[0] < op.Interval[0] || op.Used[1] > op.Interval[1] {
						t.Errorf("%s: %v is used, outside %v", op.Name, op.Used, op.Interval)
					}
				}
				repeats(t, p.Cut, p.Input.Values, p.Local)
			}
			if !seen {
				t.Error("not found")
			}
		})
	}
}

// apart is a model for whose product the intervals are too wide, because they do not show that d is 0.
const apart = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x) {
            tensor<fp16, [1, 8, 4, 4]> p = relu(x = x)[name = string("p")];
            tensor<fp16, [1, 8, 4, 4]> m = mul(x = x, y = fp16(-1.0))[name = string("m")];
            tensor<fp16, [1, 8, 4, 4]> n = relu(x = m)[name = string("n")];
            tensor<fp16, [1, 8, 4, 4]> b = sub(x = p, y = n)[name = string("b")];
            tensor<fp16, [1, 8, 4, 4]> d = sub(x = x, y = b)[name = string("d")];
            tensor<fp16, [1, 8, 4, 4]> e = add(x = d, y = fp16(0.5))[name = string("e")];
            tensor<fp16, [1, 8, 4, 4]> q = mul(x = e, y = fp16(20000.0))[name = string("q")];
        } -> (q);
}
`

// TestUnreachableFindingsAreShownAlone checks a hazard that no input of the whole model reaches: it is shown alone, and
// the finding states that its operands come from intervals and how far they are from recorded runs.
func TestUnreachableFindingsAreShownAlone(t *testing.T) {
	m := openText(t, []byte(apart))
	r, err := Run(context.Background(), m.Program, Options{Compile: options, Workers: 1, Source: m.Source})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Functions[0]
	if len(f.Findings) != 1 {
		t.Fatalf("%d findings", len(f.Findings))
	}
	x := f.Findings[0]
	if x.State != ShownAlone || x.Rule != "fp16-overflow" || x.Evidence != nil || x.Local == nil || x.Cut == nil ||
		len(x.Cut.Operands) != 1 {
		t.Fatalf("%+v", x)
	}
	if !strings.Contains(x.Note, "no input of the whole model was found; the furthest that inputs brought q: 10000 "+
		"to 10000") {
		t.Errorf("note %q", x.Note)
	}
	o := x.Cut.Operands[0]
	if o.From != witness.FromInterval || o.Seen == nil || o.Seen[0] != 0.5 || o.Seen[1] != 0.5 || x.Cut.Factor < 6 ||
		x.Cut.Factor > 16 {
		t.Errorf("factor %g, %+v", float64(x.Cut.Factor), o)
	}
	if float64(x.Gap) < 6.5 || float64(x.Gap) > 6.6 {
		t.Errorf("gap %g, want 65520 over 10000", float64(x.Gap))
	}
	repeats(t, x.Cut, x.Inputs, x.Local)
}

// TestSimilarFindingsAreGroupedAndRanked checks that findings of one kind are printed once and ranked by how close
// recorded values come to the limit, and that all are printed on request.
func TestSimilarFindingsAreGroupedAndRanked(t *testing.T) {
	var b strings.Builder
	b.WriteString("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x) {\n")
	outs := []string{}
	for i, k := range []string{"200.0", "2000.0", "20.0", "9000.0"} {
		n := string(rune('a' + i))
		b.WriteString("            tensor<fp16, [1, 8, 4, 4]> s" + n + " = mul(x = x, y = fp16(" + k +
			"))[name = string(\"s" + n + "\")];\n")
		b.WriteString("            tensor<fp16, [1, 8, 4, 4]> q" + n + " = square(x = s" + n + ")[name = string(\"q" +
			n + "\")];\n")
		outs = append(outs, "q"+n)
	}
	b.WriteString("        } -> (" + strings.Join(outs, ", ") + ");\n}\n")
	m := openText(t, []byte(b.String()))
	r, err := Run(context.Background(), m.Program, Options{
		Compile: options,
		Workers: 1,
		Source:  m.Source,
		Ranges:  map[string]Interval{"x": interval.Span(-2, 2)},
	})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Functions[0]
	if len(f.Findings) != 3 || len(f.Groups) != 1 {
		t.Fatalf("%d findings in %d groups", len(f.Findings), len(f.Groups))
	}
	for i, at := range f.Groups[0].Findings {
		if i > 0 && f.Findings[at].Gap < f.Findings[f.Groups[0].Findings[i-1]].Gap {
			t.Error("the groups' findings are not ranked")
		}
	}
	for all, n := range map[bool]int{false: 1, true: 3} {
		var out strings.Builder
		if err := r.Text(&out, TextOptions{Model: "m.mil", Path: "m.mil", All: all}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "fp16-overflow ("); got != n || strings.Contains(out.String(),
			"alike: 2 more: ") == all {
			t.Errorf("all %v: %d printed\n%s", all, got, out.String())
		}
	}
}

// TestRangesWithoutBoundsAreReportedOnce checks that the value whose range has no bounds is reported once, with the
// number of statements that depend on it.
func TestRangesWithoutBoundsAreReportedOnce(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp32, [1, 8, 4, 4]> x) {
            tensor<fp32, [1, 8, 4, 4]> q = real_div(x = fp32(1.0), y = x)[name = string("q")];
            tensor<fp32, [1, 8, 4, 4]> a = mul(x = q, y = x)[name = string("a")];
            tensor<fp32, [1, 8, 4, 4]> b = add(x = a, y = q)[name = string("b")];
            tensor<fp32, [1, 8, 4, 4]> c = clip(x = b, alpha = fp32(-1.0), beta = fp32(1.0))[name = string("c")];
            tensor<fp32, [1, 8, 4, 4]> y = mul(x = c, y = x)[name = string("y")];
        } -> (y);
}
`
	m := openText(t, []byte(text))
	r, err := Run(context.Background(), m.Program, Options{Compile: options, Workers: 1, Source: m.Source, Work: -1})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Functions[0]
	if f.Unjudged != 3 || len(f.Roots) != 1 || f.Roots[0].Value != "q" || f.Roots[0].Behind != 3 ||
		f.Roots[0].Line != 4 || !strings.Contains(f.Roots[0].Instead, "divisor") {
		t.Errorf("%d not judged, %+v", f.Unjudged, f.Roots)
	}
	sum := 0
	for _, x := range f.Roots {
		sum += x.Behind
	}
	if sum != f.Unjudged {
		t.Errorf("%d statements that depend on roots, %d not judged", sum, f.Unjudged)
	}
}

// TestStatementsOfBranchesAreShown checks that statements in the branches of a cond, which passes make operations on
// the engine, are judged, run by themselves and shown.
func TestStatementsOfBranchesAreShown(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x, tensor<bool, []> c) {
            tensor<fp16, [1, 8, 4, 4]> y = cond(pred = c)[name = string("y")] () {
                tensor<fp16, [1, 8, 4, 4]> q = square(x = x)[name = string("q")];
            } -> (q) () {
                tensor<fp16, [1, 8, 4, 4]> r = exp(x = x)[name = string("r")];
            } -> (r);
        } -> (y);
}
`
	m := openText(t, []byte(text))
	r, err := Run(context.Background(), m.Program, Options{
		Compile: options,
		Workers: 1,
		Source:  m.Source,
		Ranges:  map[string]Interval{"x": interval.Span(-300, 300)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"q": "fp16-overflow", "r": "exp-overflow"}
	for _, x := range r.Functions[0].Findings {
		if want[x.Statement] != x.Rule || x.State != Shown || x.Unit != "engine" {
			t.Errorf("%s of %s on the %s is %s: %s", x.Rule, x.Statement, x.Unit, x.State, x.Note)
		}
		delete(want, x.Statement)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// TestHiddenHazardsAreShownAlone checks a hazard that an input of the whole model reaches without any effect on the
// outputs: the statement alone shows it with the operands of that run.
func TestHiddenHazardsAreShownAlone(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x) {
            tensor<fp16, [1, 8, 4, 4]> a = add(x = x, y = fp16(1.0))[name = string("a")];
            tensor<fp16, [1, 8, 4, 4]> q = square(x = a)[name = string("q")];
            tensor<fp16, [1, 8, 4, 4]> c = minimum(x = q, y = fp16(1.0))[name = string("c")];
        } -> (c);
}
`
	m := openText(t, []byte(text))
	r, err := Run(context.Background(), m.Program, Options{
		Compile: options,
		Workers: 1,
		Source:  m.Source,
		Ranges:  map[string]Interval{"x": interval.Span(-300, 300)},
	})
	if err != nil {
		t.Fatal(err)
	}
	fs := r.Functions[0].Findings
	if len(fs) != 1 || fs[0].State != ShownAlone || fs[0].Cut.Factor != 1 ||
		fs[0].Cut.Operands[0].From != witness.FromRuns ||
		!strings.Contains(fs[0].Note, "no output of the function shows it") {
		t.Fatalf("%+v", fs[0])
	}
	repeats(t, fs[0].Cut, fs[0].Inputs, fs[0].Local)
}

// TestSafeRangesRuleOutTheFinding clips the operands to the ranges that a finding states as safe: the model no longer
// has the finding.
func TestSafeRangesRuleOutTheFinding(t *testing.T) {
	m := openText(t, []byte(apart))
	r, err := Run(context.Background(), m.Program, Options{Compile: options, Workers: 1, Source: m.Source})
	if err != nil {
		t.Fatal(err)
	}
	o := r.Functions[0].Findings[0].Cut.Operands[0]
	if o.Safe == nil || float64(o.Safe[1]) < 3 || float64(o.Safe[1]) > 3.276 {
		t.Fatalf("safe %v; 65520/20000 is the limit", o.Safe)
	}
	clip := fmt.Sprintf(`            tensor<fp16, [1, 8, 4, 4]> k = clip(x = e, alpha = fp16(%g), beta = `+
		`fp16(%g))[name = string("k")];
            tensor<fp16, [1, 8, 4, 4]> q = mul(x = k,`, float64(o.Safe[0]), float64(o.Safe[1]))
	m = openText(t, []byte(strings.Replace(apart, "            tensor<fp16, [1, 8, 4, 4]> q = mul(x = e,", clip, 1)))
	if r, err = Run(context.Background(), m.Program, Options{Compile: options, Workers: 1}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Functions[0].Findings); n != 0 {
		t.Errorf("%d findings with the clip", n)
	}
}
