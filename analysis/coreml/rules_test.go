package coreml

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestRulesReadBack checks that every built-in file is read, and that what Write writes of it reads back the same.
func TestRulesReadBack(t *testing.T) {
	for _, n := range Names() {
		r, err := Named(n)
		if err != nil {
			t.Fatal(err)
		}
		if r.Name != n {
			t.Errorf("the file %s has the name %s", n, r.Name)
		}
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&b, n)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r, back) {
			t.Errorf("%s: reads back as %+v, want %+v", n, back, r)
		}
	}
	if _, err := Named("m9"); err == nil || !strings.Contains(err.Error(), "m4-macos27") {
		t.Errorf("unknown rules: %v; want an error with the names", err)
	}
}

// TestRulesRefuseBadLines checks that a wrong line is refused with its number and what is wanted.
func TestRulesRefuseBadLines(t *testing.T) {
	var b bytes.Buffer
	if err := Default().Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	for _, c := range []struct{ line, want string }{
		{"speed\t1", `unknown line "speed"`},
		{"rate\tconv\t-", "rate has 2 fields, want 8"},
		{"rate\t\t-\t-\t-\t-\t-\t-\t-", "without an operation"},
		{"rate\tconv\tsize<3\t-\t-\t-\t-\t-\t-", `unknown measure "size"`},
		{"rate\tconv\tbytes!3\t-\t-\t-\t-\t-\t-", "has no relation"},
		{"rate\tconv\tbytes<x\t-\t-\t-\t-\t-\t-", `"x" is not a number`},
		{"rate\tconv\tbytes<NaN\t-\t-\t-\t-\t-\t-", `"NaN" is not a number`},
		{"rate\tconv\t-\t-\t0 bytes\t-\t-\t-\t-", "want a number above 0"},
		{"rate\tconv\t-\t-\tInf bytes\t-\t-\t-\t-", "want a number above 0"},
		{"rate\tconv\t-\t-\t5\t-\t-\t-\t-", "want such as"},
		{"change\tane\tnpu\t1", `unknown backend "npu"`},
		{"change\tane\tbnns\t1", "is stated already"},
		{"change\tmps_graph\tcaller\t-1", "is not a time"},
		{"change\tmps_graph\tcaller\tNaN", "is not a time"},
		{"limit\tW\t7", "is stated already"},
		{"limit\tsize\t7", `unknown limit "size"`},
		{"line\t2\t1", "want the larger last"},
		{"refuse\tbnns\ttan\tno\t-", `unknown backend "bnns"`},
		{"refuse\tane\ttan\t\t-", "without an operation or a reason"},
	} {
		_, err := Read(strings.NewReader(good+c.line+"\n"), "f.tsv")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f.tsv:") {
			t.Errorf("line %q: error %v, want one with %q and the place", c.line, err, c.want)
		}
	}
	for _, c := range []struct{ drop, want string }{
		{"name\t", "no name"},
		{"change\tane\tbnns", "no cost of the change from ane to bnns"},
		{"change\tcaller\tbnns", "no cost of the changes from caller to bnns"},
		{"rate\t*", "no rate of any operation"},
	} {
		var lines []string
		for _, l := range strings.Split(good, "\n") {
			if !strings.HasPrefix(l, c.drop) {
				lines = append(lines, l)
			}
		}
		if _, err := Read(strings.NewReader(strings.Join(lines, "\n")), "f.tsv"); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("without %q: error %v, want one with %q", c.drop, err, c.want)
		}
	}
}

// FuzzRules checks that no text makes the reader panic, and that what it accepts reads back.
func FuzzRules(f *testing.F) {
	for _, n := range Names() {
		b, err := files.ReadFile("rates/" + n + ".tsv")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Read(bytes.NewReader(b), "f")
		if err != nil {
			return
		}
		var w bytes.Buffer
		if err := r.Write(&w); err != nil {
			t.Fatal(err)
		}
		if back, err := Read(&w, "f"); err != nil || !reflect.DeepEqual(r, back) {
			t.Errorf("reads back as %+v, %v, want %+v", back, err, r)
		}
	})
}
