package reported

import "github.com/zinc-compiler/zinc/ir"

// Effect is what happens to a program, according to reports.
type Effect string

// Effects.
const (
	Refused Effect = "refused"        // the engine's compiler fails or crashes
	Wrong   Effect = "wrong result"   // the engine computes something else, silently
	Off     Effect = "off the engine" // Core ML runs it elsewhere, silently
	Slow    Effect = "slow"           // it runs or compiles much slower than it should
	Record  Effect = "refused in records"
)

// Rule is one pattern.
type Rule struct {
	Name   string
	Effect Effect
	Doc    string // the pattern
	// Instead is what to write, "" if that is not known, and Recipe the recipe of zinc explain that writes it.
	Instead, Recipe string

	// ops are the operations that op looks at; op, value and fn return the facts that match, "" for none.
	ops   []*ir.Operation
	op    func(s *search, op *ir.Op) string
	value func(v *ir.Value) string
	fn    func(s *search) (*ir.Value, string)
}

type ops = []*ir.Operation
