package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// hazards is a model with several findings on two inputs.
const hazards = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x, tensor<fp16, [1, 8, 4, 4]> z) {
            tensor<fp16, [1, 8, 4, 4]> q = real_div(x = x, y = z)[name = string("q")];
            tensor<fp16, [1, 8, 4, 4]> a = square(x = x)[name = string("a")];
            tensor<fp16, [1, 8, 4, 4]> y = exp(x = z)[name = string("y")];
        } -> (q, a, y);
}
`

// report lints the text with options and returns the report as JSON.
func report(t *testing.T, text string, change func(o *Options)) []byte {
	t.Helper()
	m := openText(t, []byte(text))
	o := Options{
		Compile: options,
		Workers: 1,
		Source:  m.Source,
		Ranges:  map[string]Interval{"x": interval.Span(-300, 300), "z": interval.Span(-20, 20)},
	}
	if change != nil {
		change(&o)
	}
	r, err := Run(context.Background(), m.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Functions[0].Findings {
		f.File = "" // the folder of the test
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSearchReportsProgress checks that the search reports its work in order and never more than its budget.
func TestSearchReportsProgress(t *testing.T) {
	calls, last := 0, 0
	const budget = 50 // million operations
	report(t, strings.ReplaceAll(hazards, "8, 4, 4", "8, 128, 128"), func(o *Options) {
		o.Work = budget * 1e6
		o.Progress = func(stage string, done, total int) {
			calls++
			if stage == "" || total != budget || done < last || done > total {
				t.Errorf("%q: %d of %d after %d", stage, done, total, last)
			}
			last = done
		}
	})
	if calls == 0 || last == 0 {
		t.Errorf("%d calls, the last with %d million operations", calls, last)
	}
}

// TestReportsAreDeterministic compares the reports, evidence included, for different numbers of workers.
func TestReportsAreDeterministic(t *testing.T) {
	a := report(t, hazards, nil)
	if b := report(t, hazards, func(o *Options) { o.Workers, o.Compile.Workers = 3, 3 }); !bytes.Equal(a, b) {
		t.Errorf("one worker:\n%s\nthree:\n%s", a, b)
	}
	for _, rule := range []string{"reciprocal-overflow", "fp16-overflow", "exp-overflow"} {
		if !bytes.Contains(a, []byte(rule)) {
			t.Errorf("no %s in %s", rule, a)
		}
	}
}

// TestFindingsWithoutSearchArePossible checks that without a search, or with a budget that ends at once, findings stay
// possible and state why.
func TestFindingsWithoutSearchArePossible(t *testing.T) {
	for work, note := range map[int64]string{-1: "no input was searched for", 1: "budget"} {
		b := string(report(t, hazards, func(o *Options) { o.Work = work }))
		if strings.Contains(b, `"shown"`) || !strings.Contains(b, note) {
			t.Errorf("work %d: %s", work, b)
		}
	}
}

// TestStatementsOnTheCPUOfTheTargetHaveNoEngineRules checks a statement that another target keeps on the CPU.
func TestStatementsOnTheCPUOfTheTargetHaveNoEngineRules(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x, tensor<fp16, [1, 8, 4, 4]> z) {
            tensor<fp16, [1, 8, 4, 4]> y = sqrt(x = x)[name = string("y")];
            tensor<fp16, [1, 8, 4, 4]> w = relu(x = z)[name = string("w")];
        } -> (y, w);
}
`
	if b := string(report(t, text, nil)); !strings.Contains(b, "nan-to-zero") {
		t.Errorf("on the engine: %s", b)
	}
	b := string(report(t, text, func(o *Options) { o.Units = map[string]ir.Unit{UnitKey("sqrt", "y", 4, 44): ir.CPU} }))
	if strings.Contains(b, "nan-to-zero") {
		t.Errorf("on the CPU: %s", b)
	}
}

// TestRulesHoldForTargetsWhoseTableHasTheirSubject checks a slice that is infinite from 4096 on and a product of
// subnormal weights, on engines that have such a limit and on later ones.
func TestRulesHoldForTargetsWhoseTableHasTheirSubject(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 2, 4, 8]> x) {
            tensor<fp16, [1, 2, 4, 7]> s = slice_by_index(x = x, begin = tensor<int32, [4]>([0, 0, 0, 1]), end = ` +
		`tensor<int32, [4]>([1, 2, 4, 8]))[name = string("s")];
            tensor<fp16, [1, 1, 4, 7]> y = conv(x = s, weight = tensor<fp16, [1, 2, 1, 1]>([0x1p-16, 0x1p-17]))` +
		`[name = string("y")];
        } -> (y);
}
`
	for name, want := range map[string]bool{"": true, "h14": true, "h16": false, "h17s": false, "h18g": false} {
		b := string(report(t, text, func(o *Options) {
			o.Target, o.Ranges = name, map[string]Interval{"x": interval.Span(0, 10000)}
		}))
		for _, rule := range []string{"width-slice-4096", "subnormal-flushed"} {
			if strings.Contains(b, rule) != want {
				t.Errorf("%s on %q, want %v: %s", rule, name, want, b)
			}
		}
	}
}

func TestWrongRangesAreRefused(t *testing.T) {
	for name, ranges := range map[string]map[string]Interval{
		`unknown input "w" in the ranges`: {"w": interval.Span(0, 1)},
		"contains no finite values":       {"x": interval.Span(1e6, 2e6)},
		"1 to 0":                          {"x": interval.Span(1, 0)},
		"NaN":                             {"x": {Lo: math.NaN(), Hi: 1}},
		"Inf":                             {"x": interval.Span(0, inf)},
	} {
		m := openText(t, []byte(hazards))
		_, err := Run(context.Background(), m.Program, Options{Compile: options, Ranges: ranges})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInnerMovesBoundsInwards also checks that the bounds are elements of the type.
func TestInnerMovesBoundsInwards(t *testing.T) {
	for _, c := range []struct {
		d    ir.DType
		r, w Interval
	}{
		{ir.FP16, interval.Span(-0.1, 0.1), interval.Span(-0.0999755859375, 0.0999755859375)},
		{ir.FP16, interval.Span(0, 65504), interval.Span(0, 65504)},
		{ir.FP16, interval.Span(-1e-9, 70000), interval.Span(0, 65504)},
		{ir.Int32, interval.Span(-1.5, 2.5), interval.Span(-1, 2)},
	} {
		got, err := interval.Inner(c.r, c.d)
		if c.r.Hi > 65504 {
			if err != nil || got.Hi != 65504 {
				t.Errorf("%v of %s: %v, %v", c.r, c.d, got, err)
			}
			continue
		}
		if err != nil || got.Lo != c.w.Lo || got.Hi != c.w.Hi {
			t.Errorf("%v of %s: %v, %v, want %v", c.r, c.d, got, err, c.w)
		}
	}
}

// TestOperationsWithoutTransferAreListed checks that such an operation has its type's range.
func TestOperationsWithoutTransferAreListed(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x, tensor<fp16, [1, 8, 4, 4]> z) {
            tensor<int32, [512, 4]> n = non_zero(x = x)[name = string("n")];
            tensor<fp16, [1, 8, 4, 4]> y = relu(x = z)[name = string("y")];
        } -> (n, y);
}
`
	text2 := strings.Replace(text, "[512, 4]", "[?, 4]", 1)
	m := openText(t, []byte(text2))
	r, err := Run(context.Background(), m.Program, Options{Compile: options, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if u := r.Functions[0].Unmodelled; len(u) != 1 || u[0] != "non_zero" {
		t.Errorf("unmodelled: %v", u)
	}
}

// TestStatementsAfterNaNAreJudged checks a statement after one that may return NaN: it is judged as if that did not,
// and the finding states it.
func TestStatementsAfterNaNAreJudged(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8, 4, 4]> x, tensor<fp16, [1, 8, 4, 4]> z) {
            tensor<fp16, [1, 8, 4, 4]> a = square(x = x)[name = string("a")];
            tensor<fp16, [1, 8, 4, 4]> b = softmax(x = a, axis = int32(3))[name = string("b")];
            tensor<fp16, [1, 8, 4, 4]> c = mul(x = b, y = fp16(30))[name = string("c")];
            tensor<fp16, [1, 8, 4, 4]> y = exp(x = c)[name = string("y")];
            tensor<fp16, [1, 8, 4, 4]> w = exp(x = z)[name = string("w")];
        } -> (y, w);
}
`
	m := openText(t, []byte(text))
	r, err := Run(context.Background(), m.Program, Options{
		Compile: options,
		Workers: 1,
		Ranges:  map[string]Interval{"x": interval.Span(-300, 300), "z": interval.Span(-20, 20)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"a": false, "y": true, "w": false}
	for _, f := range r.Functions[0].Findings {
		b, ok := want[f.Statement]
		if !ok || f.Behind != b {
			t.Errorf("%s of %s: behind is %v", f.Rule, f.Statement, f.Behind)
		}
		delete(want, f.Statement)
		if f.Statement != "a" && f.State != Shown {
			t.Errorf("%s of %s is %s: %s", f.Rule, f.Statement, f.State, f.Note)
		}
	}
	if len(want) > 0 || r.Functions[0].Unjudged != 0 {
		t.Errorf("not found: %v; %d not judged, want none", want, r.Functions[0].Unjudged)
	}
}
