package verify

import (
	"fmt"
	"maps"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// flushedOperands is the part of a bound that is not rounding: an operand that is read as 0.
const flushedOperands = "operands under 2^-14, which products read as 0"

// terms are the parts of a bound that the arithmetic has, each with the arithmetic that is without it.
var terms = []struct {
	name    string
	without func(a *arithmetic)
}{
	{"the order and the rounding of its sums", func(a *arithmetic) { a.sum = 0 }},
	{flushedOperands, func(a *arithmetic) { a.flush = false }},
	{"the error of its lookup table", func(a *arithmetic) {
		a.tables = func(*ir.Op) []lower.TableUse { return nil }
	}},
	{"rounding of its parts to fp16", func(a *arithmetic) {
		a.rounding = func(*ir.Op) float64 { return 0 }
		a.engine = false
	}},
}

// largestTerm names the part of a bound without which it is the least: of the arithmetic, or the error of an operand
// that is not stored. It returns "" if none makes it less.
func (x *call) largestTerm(op *ir.Op, as map[*ir.Value]*enclosure, result int, got interp.Tensor,
	bound float64) (string, error) {
	name, least := "", bound
	for _, a := range as {
		if err := a.now(); err != nil {
			return "", err
		}
	}
	try := func(e *encloser, as map[*ir.Value]*enclosure, part string) {
		out, err := e.enclose(op, as)
		if err != nil {
			return
		}
		if f, unknown, err := out[result].against(got); err == nil && !unknown && f.bound < least {
			name, least = part, f.bound
		}
	}
	for _, t := range terms {
		e := x.placed
		t.without(&e.arithmetic)
		try(&e, as, t.name)
	}
	for _, v := range free(op) {
		if as[v].exact() {
			continue
		}
		exact := maps.Clone(as)
		exact[v] = &enclosure{t: as[v].t}
		try(&x.placed, exact, fmt.Sprintf("the error of %s, which is not stored", v.Name))
	}
	return name, nil
}
