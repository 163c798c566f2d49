package passes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestStepsKeepWithinTheChain checks that operations whose tasks together exceed half of a chain are in several
// procedures, and that an operation which exceeds it by itself has its own.
func TestStepsKeepWithinTheChain(t *testing.T) {
	var src strings.Builder
	src.WriteString("program \"1.3\"\n\nfunc %main \"ios18\"(%x0: tensor<fp16, [1, 8]>) {\n")
	for i := range 10 {
		fmt.Fprintf(&src, "  %%x%d: tensor<fp16, [1, 8]> = sin(x = %%x%d)\n", i+1, i)
	}
	src.WriteString("  return %x10\n}\n")
	p, err := ir.Parse("in", []byte(src.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	many := map[string]int{"x3": 40000}
	o := passes.Options{
		Target: target.H13,
		Accept: func(op *ir.Op) (target.Acceptance, error) {
			n := many[op.Results[0].Name]
			if n == 0 {
				n = 10000
			}
			return target.Acceptance{Rule: "elementwise", Tasks: n}, nil
		},
	}
	s, err := passes.Run(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, st := range s.Partitions {
		var names []string
		for _, op := range st.Ops {
			names = append(names, op.Results[0].Name)
		}
		got = append(got, strings.Join(names, " "))
	}
	if got, want := strings.Join(got, " | "), "x1 x2 | x3 | x4 x5 x6 | x7 x8 x9 | x10"; got != want {
		t.Errorf("partitions %s, want %s", got, want)
	}
}
