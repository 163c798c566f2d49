package passes_test

import (
	"context"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
)

// TestObserverSeesEveryPass checks that an observer receives the program after each pass, in order.
func TestObserverSeesEveryPass(t *testing.T) {
	p, err := ir.Parse("in", []byte(small), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	o := options()
	o.Observe = func(pass string, q *ir.Program) {
		if err := ir.Verify(q); err != nil {
			t.Errorf("after %s: %v", pass, err)
		}
		seen = append(seen, pass)
	}
	if _, err := passes.Run(context.Background(), p, o); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, passes.Names()) {
		t.Errorf("saw %v, want %v", seen, passes.Names())
	}
}
