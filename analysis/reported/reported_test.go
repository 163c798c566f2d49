package reported

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEachReportIsFoundInItsSmallestProgram has a program for each report of the table.
func TestEachReportIsFoundInItsSmallestProgram(t *testing.T) {
	n := 0
	for _, r := range Reports() {
		path := filepath.Join("testdata", r.ID+".mil")
		if !slices.Contains(found(t, path), r.Rule) {
			t.Errorf("%s: no finding of %s, want the report's own; found %s", path, r.Rule, found(t, path))
			continue
		}
		n++
	}
	t.Logf("found %d of %d reports in their smallest programs", n, len(Reports()))
}

// programs returns the files of a folder of testdata that has a folder for each rule, by rule.
func programs(t *testing.T, folder string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*", "*.mil"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in %s: %v", folder, err)
	}
	by := map[string][]string{}
	for _, f := range files {
		rule := filepath.Base(filepath.Dir(f))
		by[rule] = append(by[rule], f)
	}
	return by
}

// TestRulesFindOtherSpellings has programs of the same patterns, written in other ways.
func TestRulesFindOtherSpellings(t *testing.T) {
	n, all := 0, 0
	for rule, files := range programs(t, "variants") {
		for _, f := range files {
			all++
			if !slices.Contains(found(t, f), rule) {
				t.Errorf("%s: no finding of %s; found %s", f, rule, found(t, f))
				continue
			}
			n++
		}
	}
	t.Logf("found %d of %d variants", n, all)
}

// TestRulesAreSilentNextToTheirLimits has programs that the reports say work, or that are just within a limit.
func TestRulesAreSilentNextToTheirLimits(t *testing.T) {
	n, all := 0, 0
	for rule, files := range programs(t, "silent") {
		for _, f := range files {
			all++
			if slices.Contains(found(t, f), rule) {
				t.Errorf("%s: finding of %s, want none", f, rule)
				n++
			}
		}
	}
	t.Logf("%d false alarms on %d programs", n, all)
}

// TestEveryProgramOfTestdataHasAReport finds programs that a changed table left over.
func TestEveryProgramOfTestdataHasAReport(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.mil"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		id := strings.TrimSuffix(filepath.Base(f), ".mil")
		if !slices.ContainsFunc(Reports(), func(r *Report) bool { return r.ID == id }) {
			t.Errorf("%s: no report has this name", f)
		}
	}
}

// TestFP32IsJudgedWhereItIsComputedInFP16 has programs in fp32 about which reports in fp16 say nothing.
func TestFP32IsJudgedWhereItIsComputedInFP16(t *testing.T) {
	for path, rule := range map[string]string{
		"log-softmax/log-softmax-fp32.mil":               "log-softmax",
		"softmax-long/softmax-fp32.mil":                  "softmax-long",
		"mask-below-fp16/mask-fp32.mil":                  "mask-below-fp16",
		"transposed-padding/transposed-padding-fp32.mil": "transposed-padding",
	} {
		for _, asFP16 := range []bool{false, true} {
			fs := Find(open(t, filepath.Join("testdata", "silent", path)).Program, Options{FP16: asFP16})
			if got := slices.ContainsFunc(fs, func(f *Finding) bool { return f.Rule == rule }); got != asFP16 {
				t.Errorf("%s, fp32 in fp16 %t: found is %t, want %t", path, asFP16, got, asFP16)
			}
		}
	}
}
