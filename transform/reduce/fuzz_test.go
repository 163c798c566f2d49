package reduce_test

import (
	"context"
	"hash/fnv"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// FuzzReduce reduces whatever program a text holds, by a predicate that takes two
// of three candidates whatever they are, and checks every candidate: it is valid,
// and its text gives the same program again.
func FuzzReduce(f *testing.F) {
	for _, s := range []string{branches, stateful, several, shapes} {
		f.Add([]byte(s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text []byte, salt uint8) {
		if len(text) > 1<<14 {
			return
		}
		p := opened(text)
		if p == nil || ir.Verify(p) != nil {
			return
		}
		r, err := reduce.Run(t.Context(), p, reduce.Options{Jobs: 1, MaxRuns: 60, TempDir: t.TempDir(),
			Interesting: func(_ context.Context, c *reduce.Candidate) (bool, error) {
				if err := ir.Verify(c.Program()); err != nil {
					t.Fatalf("a candidate is not valid: %v", err)
				}
				if len(c.Text().Blobs) == 0 {
					q := opened(c.Text().MIL)
					if q == nil {
						t.Fatalf("the text does not open:\n%s", c.Text().MIL)
					}
					again, err := unbuild.Program(q, "w.bin")
					if err != nil || string(again.MIL) != string(c.Text().MIL) {
						t.Fatalf("the text gives another program: %v\n%s\n%s", err, c.Text().MIL, again.MIL)
					}
				}
				h := fnv.New32a()
				h.Write(c.Text().MIL)
				return c.Number == 1 || (h.Sum32()+uint32(salt))%3 > 0, nil
			}})
		if err == nil && r.Runs > 60 {
			t.Fatalf("%d runs", r.Runs)
		}
	})
}

// opened builds the program of a text without weight files, nil when it has errors.
func opened(text []byte) *ir.Program {
	tree, list := mil.Parse("fuzz.mil", text)
	if list.HasErrors() {
		return nil
	}
	p, list := build.Program(tree, nil, build.Options{})
	if list.HasErrors() {
		return nil
	}
	return p
}
