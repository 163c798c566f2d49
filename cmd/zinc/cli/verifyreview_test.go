package cli

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/internal/sarif/sariftest"
)

// TestVerifySARIFListsFailedOutputs checks that an output that fails is a finding, and that NaN exceeds every
// budget.
func TestVerifySARIFListsFailedOutputs(t *testing.T) {
	r := &verify.Result{Report: &compile.Report{Target: "h13"}, Outputs: []verify.Output{
		{Name: "fine", MaxAbs: 0.5, Verdict: verify.Pass, Pass: true},
		{Name: "far", MaxAbs: 2, Verdict: verify.Fail, Why: "element 3 is 2, reference 0"},
		{Name: "none", MaxAbs: verify.Number(math.NaN()), Verdict: verify.Fail},
	}}
	vs := report.JudgeOutputs("h13", outputErrors(r), map[string]float64{report.MaxError: 1000})
	if len(vs) != 1 || !math.IsInf(float64(vs[0].Value), 1) || vs[0].Contributors[0].Name != "none" ||
		vs[0].Contributors[1].Name != "far" {
		t.Errorf("%+v", vs)
	}
	if vs := report.JudgeOutputs("h13", outputErrors(r)[:2], map[string]float64{report.MaxError: 2}); vs != nil {
		t.Errorf("an error equal to the limit exceeds it: %v", vs)
	}
	out := verifyResult{Result: r, Violations: vs}
	var b bytes.Buffer
	if err := sarif.Write(&b, out.review("m.mil")); err != nil {
		t.Fatal(err)
	}
	if err := sariftest.Check(b.Bytes()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`Output \"far\", FAIL: element 3 is 2, reference 0.`, `"name": ` +
		`"none"`,
		"budget-max-error"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), `Output \"fine\"`) {
		t.Error("an output that passed is a finding")
	}
}
