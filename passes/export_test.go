package passes

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// RunSome applies the named passes in the order given, for tests of one pass.
func RunSome(p *ir.Program, o Options, names ...string) (*State, error) {
	return runSome(&State{Options: o, Program: p, Fused: map[*ir.Op][]*ir.Op{}}, names)
}

// RunSpent is like RunSome with only left bytes of the folding budget to spend.
func RunSpent(p *ir.Program, o Options, left int64, names ...string) (*State, error) {
	return runSome(&State{Options: o, Program: p, Fused: map[*ir.Op][]*ir.Op{}, folded: foldBudget - left}, names)
}

func runSome(s *State, names []string) (*State, error) {
	for _, n := range names {
		found := false
		for i := range List {
			if List[i].Name == n {
				found = true
				if err := s.runOne(&List[i]); err != nil {
					return s, err
				}
			}
		}
		if !found {
			return s, fmt.Errorf("no pass %q", n)
		}
	}
	return s, nil
}

// Skips is skips.
func Skips(from, by, to ir.DType) bool { return skips(from, by, to) }
