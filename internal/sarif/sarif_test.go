package sarif

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/sarif/sariftest"
)

func sample() Run {
	return Run{
		Tool: "zinc", Version: "1", ID: "zinc/h13/",
		Rules: []Rule{{"rank", "ranks are small", "reshape"}, {"empty", "there are elements", ""}},
		Findings: []Finding{
			{Rule: "empty", Level: Warning, Message: "x is empty", File: "a b/m.mil", Line: 3, Col: 7, Name: "x",
				Properties: map[string]any{"value": "[0]"}},
			{Rule: "rank", Level: Error, Message: "x has rank 6", File: "/m.mil"},
			{Rule: "rank", Level: Note, Message: "nowhere"},
		},
	}
}

func TestWriteReportsFindingsAndRules(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	if err := sariftest.Check(b.Bytes()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"uri": "a%20b/m.mil"`, `"uri": "file:///m.mil"`, `"ruleIndex": 1`,
		`"startColumn": 7`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	r := sample()
	r.Findings[0].Rule = "none"
	if Write(&b, r) == nil {
		t.Error("a finding of an unknown rule is written")
	}
}

// TestRepeatedRulesAreRejected follows the standard: the rules of a tool are distinct.
func TestRepeatedRulesAreRejected(t *testing.T) {
	r := sample()
	r.Rules = append(r.Rules, r.Rules[0])
	var b bytes.Buffer
	if err := Write(&b, r); err == nil && sariftest.Check(b.Bytes()) == nil {
		t.Error("a rule stands twice")
	}
}

// TestCheckRejectsInvalidLogs breaks a valid log in every way that Check detects.
func TestCheckRejectsInvalidLogs(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, sample()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to string }{
		{`"2.1.0"`, `"2.0.0"`},
		{`"name": "zinc"`, `"name": ""`},
		{`"level": "warning"`, `"level": "bad"`},
		{`"ruleIndex": 1`, `"ruleIndex": 0`},
		{`"ruleIndex": 1`, `"ruleIndex": 9`},
		{`"startLine": 3`, `"startLine": 0`},
		{`"text": "x is empty"`, `"txt": "x is empty"`},
		{`"columnKind": "unicodeCodePoints"`, `"columnKind": "bytes"`},
		{`"kind": "variable"`, `"kind": "variable", "colour": "red"`},
		{`"uri": "a%20b/m.mil"`, `"uri": "a b\\m.mil"`},
	} {
		bad := strings.Replace(b.String(), c.from, c.to, 1)
		if bad == b.String() {
			t.Errorf("nothing says %s", c.from)
			continue
		}
		if !json.Valid([]byte(bad)) {
			t.Fatalf("%s: no JSON", c.to)
		}
		if sariftest.Check([]byte(bad)) == nil {
			t.Errorf("a log with %s passes", c.to)
		}
	}
}
