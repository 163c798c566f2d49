package difftest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
)

// TestRegressions judges the programs of bugs that were found and fixed: on integers, with which most of them never
// round, and on normal numbers, in programs for h13 and for Narrow.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "regressions", "*.mil"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no regressions: %v", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(text, []byte("// Rule: ")) {
				t.Errorf("%s does not say which rule the bug taught", path)
			}
			m, err := frontend.Open(path, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for seed := range testform.Of[uint64](3, 8, 8) {
				for _, to := range []*target.Table{target.H13, difftest.Narrow} {
					judge(t, m.Program, seed, to)
				}
			}
		})
	}
}

// judge judges a program with settings that seed decides.
func judge(t *testing.T, p *ir.Program, seed uint64, to *target.Table) {
	t.Helper()
	s := difftest.Settings{
		Seed:     seed,
		Numerics: []numerics.Mode{numerics.ANE, numerics.ANEFixed, numerics.IEEE}[seed%3],
		Compile: compile.Options{
			Target:      to,
			SplitKernel: seed&2 != 0,
			FullTD:      seed == 4,
			Precision:   []string{"declared", "fp16"}[seed/4],
			VerifyEach:  true,
		},
	}
	if _, err := difftest.Disagreement(t.Context(), p, s); err != nil {
		t.Errorf("seed %d, L2 of %d bytes: %v", seed, to.L2Bytes, err)
	}
	s.Inputs = difftest.Integers(p, seed, 3)
	s.Exact = difftest.RoundsNowhere(t.Context(), p, s.Inputs)
	if _, err := difftest.Disagreement(t.Context(), p, s); err != nil {
		t.Errorf("seed %d, L2 of %d bytes, integers: %v", seed, to.L2Bytes, err)
	}
}
