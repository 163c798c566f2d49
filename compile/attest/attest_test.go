package attest

import (
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
)

func TestTable(t *testing.T) {
	for _, version := range Versions {
		tableOf(t, version)
	}
	if c := Cases(Versions[0], "work=none"); c != nil {
		t.Errorf("an unknown kind is attested by %q", c)
	}
	if c := Cases(0, "work=none"); c != nil {
		t.Errorf("a version without a table has kinds attested by %q", c)
	}
}

func tableOf(t *testing.T, version int) {
	text, err := tables.ReadFile(File(version))
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	if !slices.IsSorted(lines) || len(lines) == 0 {
		t.Fatalf("%d lines, want some, sorted", len(lines))
	}
	for _, line := range lines {
		kind, cases, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || len(strings.Fields(cases)) == 0 || !slices.Equal(Cases(version, kind), strings.Fields(cases)) {
			t.Errorf("line %q: want a kind, a tab, recorded cases", line)
		}
	}
}

// TestKind: sizes of one class are one kind, and what the rules distinguish are
// several.
func TestKind(t *testing.T) {
	task := func(c, w, index int) string {
		x := td.New().SetBool(td.SrcEn, true).SetBool(td.DstEn, true).Set(td.NEOp, int(td.NEPass)).
			Set(td.Nonlinear, int(td.NonlinReLU))
		x.Set(td.Cin, c).Set(td.Cout, c).Set(td.Win, w).Set(td.Hin, 1).Set(td.Wout, w).Set(td.Hout, 1)
		return Kind(x, index, 3)
	}
	first := task(64, 32, 0)
	for _, c := range []struct {
		channels, width, index int
		same                   bool
	}{
		{channels: 128, width: 32, index: 0, same: true}, {channels: 64, width: 64, index: 0, same: true},
		{channels: 64, width: 33, index: 0, same: false}, {channels: 65, width: 32, index: 0, same: false},
		{channels: 8, width: 32, index: 0, same: false},
		{channels: 64, width: 1, index: 0, same: false}, {channels: 64, width: 256, index: 0, same: false},
		{channels: 64, width: 32, index: 1, same: false}, {channels: 64, width: 32, index: 2, same: false},
	} {
		if k := task(c.channels, c.width, c.index); (k == first) != c.same {
			t.Errorf("%d channels, width %d, task %d of 3: kind %q beside %q", c.channels, c.width, c.index, k, first)
		}
	}
}
