package compile_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// TestCompressedForms checks that every compressed constant of the conformance
// cases is in the report once, with its form.
func TestCompressedForms(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(shareddir.Find(t), "conformance", "cases", "constexpr_*"))
	if err != nil || len(dirs) == 0 {
		t.Skipf("no conformance cases: %v", err)
	}
	forms := map[string]bool{}
	for _, dir := range dirs {
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(dir), err)
			continue
		}
		last := "" // name of the constant that ends a chain
		for _, op := range m.Program.Funcs[0].Body.Ops {
			if strings.HasPrefix(op.Def.Name, "constexpr_") {
				last = op.Results[len(op.Results)-1].Name
			}
		}
		var r *compile.Report
		to := compile.Sink{Plan: compile.To(&r)}
		if err := compile.Compile(context.Background(), m.Program,
			compile.Options{Target: target.H13}, to); err != nil {
			t.Errorf("%s: %v", filepath.Base(dir), err)
			m.Close()
			continue
		}
		if n := len(r.Compressed); n == 0 || r.Compressed[n-1].Name != last {
			t.Errorf("%s: no %s in %+v", filepath.Base(dir), last, r.Compressed)
		}
		for _, c := range r.Compressed {
			if c.Form == "" || c.Stored <= 0 || c.Why == "" {
				t.Errorf("%s: %+v", filepath.Base(dir), c)
			}
			forms[c.Form] = true
		}
		m.Close()
	}
	for _, want := range []string{
		"affine int8", "asymmetric affine uint8", "blockwise int8", "4-bit palette", "8-bit palette of vectors",
		"sparse", "sparse 3-bit palette", "sparse blockwise int4",
		"asymmetric affine uint8, then sparse 4 palettes of 2 bits",
		"cast from fp16",
	} {
		if !forms[want] {
			t.Errorf("no constant is %s", want)
		}
	}
}
