package lower

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

// opTasks bounds the tasks of one operation, a quarter of a chain, so that
// those around it have room in the same procedure. A shape of a few bytes can
// ask for any number of small products.
func opTasks(t *target.Table) int { return t.MaxTasks / 4 }

// trial lowers an operation alone, between ports of its own, and keeps nothing
// of it but the number of its tasks: what the rule cannot lower is refused. It packs
// no coefficients and stops at opTasks, so that its time and memory follow from the
// number of tasks and not from the size of a constant.
func (l *limits) trial(r *Rule, op *ir.Op) (tasks int, err error) {
	b := newBuilder(&Segment{}, l.t, &weights.Section{}, 1)
	b.trial, b.op, b.rule = true, op, r.Name
	defer func() {
		switch x := recover(); x {
		case nil:
		case tooManyTasks{}:
			limit := opTasks(l.t)
			err = refuse(target.RuleTasks, "tasks", fmt.Sprintf("more than %d", limit), limit,
				fmt.Sprintf("takes more than %d tasks; a chain of %d has to hold those around it as well", limit,
					l.t.MaxTasks))
		default:
			panic(x)
		}
	}()
	port := func(v *ir.Value, sp space) *buffer {
		_, size := canonicalStrides(tensorDims(v.Type))
		return &buffer{space: sp, size: size, bar: BarFirstPort, def: -1}
	}
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if !v.IsConst() && b.vals[v] == nil {
			b.vals[v] = inBuffer(port(v, inPort), tensorDims(v.Type))
		}
	})
	for _, v := range op.Results {
		b.outs[v] = port(v, outPort)
	}
	if err = r.lower(b, op); err == nil {
		err = b.err
	}
	var no *Refusal
	if err == nil || errors.As(err, &no) {
		return len(b.tasks), err
	}
	return 0, refuse(target.RuleOther, "arguments", op.Def.Name, "what rule "+r.Name+" can lower", err.Error())
}
