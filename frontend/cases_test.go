package frontend

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

// TestConformanceCasesBuild opens the programs of the conformance cases. They come from Apple's own tests, so every one
// must build, and the types of its results must be those in the table of cases.
func TestConformanceCasesBuild(t *testing.T) {
	shared := shareddir.Find(t)
	index, err := os.ReadFile(filepath.Join(shared, "conformance", "INDEX.tsv"))
	if err != nil {
		t.Skip(err)
	}
	lines := strings.Split(strings.TrimSpace(string(index)), "\n")
	column := map[string]int{}
	for i, n := range strings.Split(lines[0], "\t") {
		column[n] = i
	}
	for i, line := range lines[1:] {
		if testing.Short() && i%7 != 0 {
			continue
		}
		f := strings.Split(line, "\t")
		name := f[column["name"]]
		m, err := Open(filepath.Join(shared, "conformance", "cases", name), Options{})
		if err != nil {
			t.Errorf("%s [%s]:\n%s", name, f[column["flags"]], report(err))
			continue
		}
		if n := m.Warnings.Warnings(); n > 0 {
			t.Errorf("%s: %s", name, m.Warnings.All()[0].Text())
		}
		if err := ir.Verify(m.Program); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkOutputs(t, name, m.Program, f[column["outputs"]])
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkOutputs compares the outputs of main with NAME:TYPE[DIMS] separated by blanks; the stated dimensions hold for
// one run.
func checkOutputs(t *testing.T, name string, p *ir.Program, want string) {
	t.Helper()
	stated := map[string]string{}
	for _, s := range strings.Fields(want) {
		if n, typ, ok := strings.Cut(s, ":"); ok {
			stated[n] = typ
		}
	}
	f := p.Func("main")
	if f == nil {
		t.Errorf("%s: no function main", name)
		return
	}
	for _, v := range f.Body.Outputs {
		s, ok := stated[v.Name]
		if !ok {
			t.Errorf("%s: no output %s in %q", name, v.Name, want)
			continue
		}
		elem, dims, _ := strings.Cut(s, "[")
		d, ok := ir.ParseDType(elem)
		if !ok {
			t.Errorf("%s: unknown type %q", name, elem)
			continue
		}
		u := ir.Scalar(d)
		if dims = strings.TrimSuffix(dims, "]"); dims != "" {
			for _, n := range strings.Split(dims, ",") {
				u.Shape = append(u.Shape, number(n))
			}
		}
		if !v.Type.Fits(u) {
			t.Errorf("%s: output %s is %s, want %s", name, v.Name, v.Type, u)
		}
	}
}

func number(s string) int64 {
	n := int64(0)
	for _, c := range s {
		n = n*10 + int64(c-'0')
	}
	return n
}

// TestRecordedCasesBuild builds the programs of the recorded cases, whose weights are not files; a program whose only
// errors concern these is sound.
func TestRecordedCasesBuild(t *testing.T) {
	shared := shareddir.Find(t)
	files, err := filepath.Glob(filepath.Join(shared, "oracles", "h13", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var c struct{ MIL string }
		if err := json.Unmarshal(data, &c); err != nil || c.MIL == "" {
			t.Fatalf("%s: %v", name, err)
		}
		tree, list := mil.ParseString(filepath.Base(name), c.MIL)
		p, more := build.Program(tree, nil, build.Options{})
		list.Merge(more)
		blobs := strings.Count(c.MIL, "BLOBFILE")
		if list.Errors() != blobs {
			var b strings.Builder
			list.WriteText(&b)
			t.Errorf("%d errors, %d weights:\n%s", list.Errors(), blobs, &b)
		}
		if p != nil {
			if err := ir.Verify(p); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
