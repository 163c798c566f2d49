package target

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestVersionsMatchPublishedList compares names and families with the published list, and CPU subtypes with recorded
// containers. The list's own second number (h16 8, h17 7) is another field.
func TestVersionsMatchPublishedList(t *testing.T) {
	want := []struct {
		name    string
		subtype uint32
		family  string
	}{
		{"h11", 1, "A11Legacy"}, {"h12", 3, "A12"},
		{"h13", 4, "A13"}, {"h13g", 4, "A13"},
		{"h14", 5, "A14"}, {"h14g", 5, "A14"}, {"h14c", 5, "A14"},
		{"h15", 6, "A15"}, {"h15g", 6, "A15"},
		{"h16", 7, "A15"}, {"h16g", 7, "A15"}, {"h16s", 7, "A15"}, {"h16c", 7, "A15"},
		{"h17", 9, "A16"}, {"h17a", 9, "A16"}, {"h17g", 9, "A16"}, {"h17c", 9, "A16"}, {"h17d", 9, "A16"},
		{"h17s", 9, "A17"}, {"h18", 10, "A17"}, {"h18g", 11, "A17"}, {"h19", 11, "A17"},
	}
	if len(want) != len(Names()) {
		t.Errorf("targets %v", Names())
	}
	for _, w := range want {
		tab, err := Lookup(w.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if tab.Name != w.name || tab.Subtype != w.subtype || tab.Family.String() != w.family {
			t.Errorf("%s: name %s, version %d, family %s, want %d, %s", w.name, tab.Name, tab.Subtype, tab.Family,
				w.subtype, w.family)
		}
	}
	if got := strings.Join(Compiled(), " "); got != "h13 h13g h14 h14g h14c h15 h15g h16 h16g h16s h16c h17 h17a h17g "+
		"h17c h17d h17s h18 h18g" {
		t.Errorf("programs are written for %s", got)
	}
	if _, err := Lookup("h99"); err == nil || !strings.Contains(err.Error(), "h17s") {
		t.Errorf("h99: %v", err)
	}
}

// TestVersionsOfDescriptorsMatchPublishedList compares the versions with the published list by CPU subtype.
func TestVersionsOfDescriptorsMatchPublishedList(t *testing.T) {
	want := map[uint32]int{1: 5, 3: 6, 4: 7, 5: 11, 6: 8, 7: 17, 9: 19, 10: 20, 11: 24}
	for _, tab := range All {
		if tab.Version != want[tab.Subtype] {
			t.Errorf("%s: version %d, want %d", tab.Name, tab.Version, want[tab.Subtype])
		}
		if tab.TD != 0 && tab.TD != tab.Version {
			t.Errorf("%s: zinc writes version %d, the hardware reads %d", tab.Name, tab.TD, tab.Version)
		}
	}
}

// TestLookupTakesChipsInAnySpelling looks targets up by the names of chips.
func TestLookupTakesChipsInAnySpelling(t *testing.T) {
	for name, want := range map[string]string{
		"a14": "h13", "M1": "h13", "M1 Max": "h13g", "m1max": "h13g", "m1-max": "h13g", "Apple M1 Pro": "h13g",
		"m2": "h14", "M2 Pro": "h14g", "m3": "h15", "M3 Ultra": "h15g", "m4": "h16g", "M5": "h17", "m5_pro": "h17s",
		"m6": "h18g", "A20": "h19", "a17pro": "h16", "a17": "h16", "T8112": "h14", "H14": "h14", "h18": "h18",
	} {
		if tab, err := Lookup(name); err != nil || tab.Name != want {
			t.Errorf("%q: %v, %v, want %s", name, tab, err, want)
		}
	}
	for _, name := range []string{"", "m", "a1", "m7", "pro", "max", "h", "a14pro"} {
		if tab, err := Lookup(name); err == nil {
			t.Errorf("%q is %s", name, tab.Name)
		}
	}
	for _, n := range Spellings(func(*Table) bool { return true }) {
		if _, err := Lookup(n); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryChipRunsAKnownTargetAndStatesItsSource(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Chips {
		if _, err := Lookup(c.Target); err != nil || c.Source == "" || c.Grade == "" || c.Cores%16 != 0 {
			t.Errorf("%+v: %v", c, err)
		}
		for _, n := range []string{c.Name, c.SoC} {
			if n != "" && seen[n] {
				t.Errorf("two chips are %s", n)
			}
			seen[n] = true
		}
	}
	for _, tab := range All {
		if c := chipOf(spelling(tab.CostOf)); c == nil {
			t.Errorf("%s has the costs of %q, which is not a chip", tab.Name, tab.CostOf)
		}
	}
}

// TestEveryNumberHasABasis checks that every column of every target has a grade and a source, that the rows name
// columns and targets that exist, and that nothing recorded of one target counts as recorded of another.
func TestEveryNumberHasABasis(t *testing.T) {
	columns := map[string]bool{}
	for f := range reflect.TypeFor[Table]().Fields() {
		columns[f.Name] = f.IsExported()
		if !f.IsExported() {
			continue
		}
		if b := H13.BasisOf(f.Name); b.Grade == Inferred {
			t.Errorf("column %s of h13 has no source", f.Name)
		}
		for _, tab := range All {
			b := tab.BasisOf(f.Name)
			if b.Source == "" || b.Grade == "" {
				t.Errorf("%s: column %s has basis %+v", tab.Name, f.Name, b)
			}
			if of, ok := strings.CutPrefix(b.Source, "as "); ok {
				other, err := Lookup(of)
				if err != nil || !reflect.DeepEqual(value(tab, f.Name), value(other, f.Name)) {
					t.Errorf("%s: column %s is said to be as %s (%v)", tab.Name, f.Name, of, err)
				}
			}
		}
	}
	for _, r := range basisRows {
		for _, c := range strings.Fields(r.columns) {
			if !columns[c] {
				t.Errorf("a row names column %s", c)
			}
		}
		for _, n := range strings.Fields(r.targets) {
			if _, err := Lookup(n); err != nil && n != everyTarget {
				t.Error(err)
			}
		}
	}
	if b := H14.BasisOf("WorkUnit"); b.Grade != Inferred || b.Source != "as h13" {
		t.Errorf("the work unit of h14 is %+v", b)
	}
}

func value(t *Table, column string) any { return reflect.ValueOf(*t).FieldByName(column).Interface() }

// TestLimitsMatchPublishedTables compares the tables with the published ones, column by column.
func TestLimitsMatchPublishedTables(t *testing.T) {
	rows := []struct {
		name string
		get  func(t *Table) int64
		want [4]int64 // h13, h14, h15, h16 and later
	}{
		{"kernel width, fp16", func(t *Table) int64 { return int64(t.MaxKernelW) }, [4]int64{13, 16, 16, 16}},
		{"small kernel width, fp16", func(t *Table) int64 { return int64(t.SmallKernelW) }, [4]int64{7, 8, 8, 8}},
		{"kernel height", func(t *Table) int64 { return int64(t.MaxKernelH) }, [4]int64{29, 32, 32, 31}}, // measured
		{"kernel of one row", func(t *Table) int64 { return int64(t.MaxRowKernel) }, [4]int64{13, 16, 16, 15}},
		{"small kernel height", func(t *Table) int64 { return int64(t.SmallKernelH) }, [4]int64{15, 16, 16, 16}},
		{"width", func(t *Table) int64 { return int64(t.MaxWidth) }, [4]int64{16384, 16384, 16384, 65536}},
		{"height", func(t *Table) int64 { return int64(t.MaxHeight) }, [4]int64{16384, 16384, 16384, 65536}},
		{"channels", func(t *Table) int64 { return int64(t.MaxChannels) }, [4]int64{65536, 65536, 65536, 65536}},
		{"rank", func(t *Table) int64 { return int64(t.MaxRank) }, [4]int64{5, 5, 5, 5}},
		{"pooling window", func(t *Table) int64 { return int64(t.MaxPool) }, [4]int64{29, 31, 31, 31}},
		{"reduction by transpose", func(t *Table) int64 {
			return int64(t.ReduceTranspose)
		}, [4]int64{192, 192, 384, 384}},
		{"working set", func(t *Table) int64 { return t.L2Bytes }, [4]int64{2 << 20, 2 << 20, 2 << 20, 2 << 20}},
		{"kernel memory", func(t *Table) int64 {
			return t.KernelBytes
		}, [4]int64{64 << 10, 64 << 10, 64 << 10, 64 << 10}},
		{"streamed kernel", func(t *Table) int64 {
			return t.KernelStream
		}, [4]int64{16 << 20, 16 << 20, 16 << 20, 16 << 20}},
		{"L2 banks", func(t *Table) int64 { return int64(t.L2Banks) }, [4]int64{64, 64, 64, 64}},
		{"L2 granule", func(t *Table) int64 { return int64(t.L2Granule) }, [4]int64{16, 16, 16, 16}},
		{"state width", func(t *Table) int64 { return int64(t.StateMultiple) }, [4]int64{0, 0, 0, 32}},
	}
	for _, tab := range All {
		col := 3
		switch tab.Name[:3] {
		case "h11", "h12":
			if tab.Base != "h13" {
				t.Errorf("%s does not state whose limits it has", tab.Name)
			}
			col = 0
		case "h13", "h14", "h15":
			col = int(tab.Name[2] - '3')
		}
		for _, r := range rows {
			if got := r.get(tab); got != r.want[col] {
				t.Errorf("%s: %s is %d, want %d", tab.Name, r.name, got, r.want[col])
			}
		}
	}
}

// TestEveryColumnHasAReader looks for columns that no code but tests and the comparison of whole tables reads: a limit
// that nothing applies is not a limit.
func TestEveryColumnHasAReader(t *testing.T) {
	unread := map[string]bool{}
	for f := range reflect.TypeFor[Table]().Fields() {
		if !f.IsExported() {
			continue
		}
		if f.Tag.Get("doc") == "" {
			t.Errorf("column %s has no tag that describes it", f.Name)
		}
		unread[f.Name] = true
	}
	read := regexp.MustCompile(`\.(\w+)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			filepath.Base(path) == "targets.go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range read.FindAllStringSubmatch(string(text), -1) {
			delete(unread, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range unread {
		t.Errorf("nothing reads column %s", name)
	}
}

func TestCompressedFormsStreamFromTheirGenerationOn(t *testing.T) {
	for _, c := range []struct {
		form string
		from int // first column that streams it
	}{{"palette4", 0}, {"palette8", 0}, {"sparse", 0}, {"int8", 1}, {"blockwise", 2}, {"palette2", 3},
		{"sparse+palette4", 3}} {
		for i, tab := range []*Table{H13, H14, H15, H16} {
			if got, want := tab.Streams(c.form), i >= c.from; got != want {
				t.Errorf("%s on %s: streams is %v, want %v", c.form, tab.Name, got, want)
			}
		}
	}
}

func TestRulesHaveRewritesAndHints(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules {
		if r.ID == "" || r.Doc == "" || seen[r.ID] {
			t.Errorf("rule %+v", r)
		}
		seen[r.ID] = true
	}
	if r := (&Refusal{Rule: RuleRank}); r.Hint() == "" {
		t.Error("missing rewrite for a rank")
	}
	if r := (&Refusal{Rule: RuleNever, Instead: "mul"}); r.Hint() != "mul" {
		t.Errorf("hint %q", r.Hint())
	}
}

// TestEveryRuleHasAVerdict checks that every rule has a verdict, and every rule of the hardware a source.
func TestEveryRuleHasAVerdict(t *testing.T) {
	count := map[Verdict]int{}
	for _, r := range Rules {
		v, source := (&Refusal{Rule: r.ID}).Verdict()
		count[v]++
		if (v == HardwareCannot) != (source != "") {
			t.Errorf("rule %s: verdict %s, source %q", r.ID, v, source)
		}
	}
	if n := count[HardwareCannot]; n != len(hardware) || count[NotWorthIt] != len(slower) ||
		count[ZincCannotYet] == 0 {
		t.Errorf("verdicts %v: the lists name rules that are none", count)
	}
}

func TestGenerationsOfFamilies(t *testing.T) {
	for name, want := range map[string]int{"h11": 0, "h13": 0, "h14": 1, "h15": 2, "h16": 2, "h17": 2, "h18": 2} {
		if tab, err := Lookup(name); err != nil || tab.Family.Generation() != want {
			t.Errorf("%s: generation %d (%v), want %d", name, tab.Family.Generation(), err, want)
		}
	}
}
