package lower

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/target"
)

// Refusal is why the engine does not run an operation.
type Refusal = target.Refusal

// refuse returns the refusal of a rule: have is what breaks it, limit what it
// allows.
func refuse(rule, what string, have, limit any, reason string) error {
	return &Refusal{Rule: rule, What: what, Have: fmt.Sprint(have), Limit: fmt.Sprint(limit), Reason: reason}
}

// past refuses a number beyond its limit.
func past(rule, what string, have, limit int64) error {
	return refuse(rule, what, have, limit, fmt.Sprintf("%s is %d, the limit is %d", what, have, limit))
}

// unknownNow refuses an argument that only the run knows; the reason calls it
// called.
func unknownNow(param, called string) error {
	return refuse(target.RuleRuntime, param, "runtime value", "constant", called+" is known only at run time")
}

// noRule refuses an operation that no rule is for.
func noRule(op string) error {
	return refuse(target.RuleNoLowering, "operation", op, "one that a rule lowers", "no rule lowers "+op)
}

// gate refuses an operation that the target's hardware does not have.
func gate(op string, t *target.Table) error {
	g, ok := target.GateOf(op)
	switch {
	case ok && g.Never:
		return refuse(target.RuleNever, "operation", op, "in no hardware family", "the engine has no "+op)
	case ok && !t.Admits(g):
		return refuse(target.RuleFamily, "hardware family", t.Family, g.From,
			fmt.Sprintf("the engine has %s from family %s on; %s is %s", op, g.From, t.Name, t.Family))
	case slices.Contains(t.NoCode, op):
		return refuse(target.RuleNoCode, "operation", op, "no code generation on "+t.Name,
			fmt.Sprintf("no code generation is known for %s on %s", op, t.Name))
	}
	return nil
}
