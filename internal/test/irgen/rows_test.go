package irgen

import (
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// TestEveryOperationHasARow: a new operation of the registry, parameter or operand type is generated too.
func TestEveryOperationHasARow(t *testing.T) {
	const most = 6000 // programs for each operation
	for _, op := range ir.Operations {
		if rows[op] == nil {
			t.Errorf("%s has no row in rows", op.Name)
			continue
		}
		missing := map[string]bool{}
		for _, d := range op.Forms() {
			for i := range d.Params {
				missing["parameter "+string(d.Params[i].Name)] = true
			}
			for _, dt := range castTypes {
				if len(d.Params) > 0 && d.Params[0].Kind == ir.Tensor && d.Params[0].Types.Has(dt) {
					missing["operand of "+dt.String()] = true
				}
			}
		}
		for i := 0; i < most && len(missing) > 0; i++ {
			m := newMaker(drawn(uint64(i), 9, 300), irbuild.NewIn(opsets[i%len(opsets)], uint64(i)))
			m.registry = true
			if m.def(op) == nil {
				continue
			}
			m.fromRegistry(op)
			for _, o := range m.g.Program().Funcs[0].Body.Ops {
				if !o.Is(op) {
					continue
				}
				for k, a := range o.Args {
					if len(a) > 0 {
						delete(missing, "parameter "+string(o.Def.Params[k].Name))
						if k == 0 {
							delete(missing, "operand of "+a[0].Type.DType.String())
						}
					}
				}
			}
		}
		for what := range missing {
			t.Errorf("%s: no program of %d has %s", op.Name, most, what)
		}
	}
}
