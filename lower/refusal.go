package lower

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
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

// noRule refuses an operation that no rule is for; on says what it works on.
func noRule(op, on string) error {
	return &Refusal{
		Rule:   target.RuleNoLowering,
		What:   "operation",
		Have:   op + on,
		Limit:  "one that a rule lowers",
		Reason: "no rule lowers " + op,
		Op:     op,
	}
}

// typesOf is the element types of an operation's operand and result.
func typesOf(op *ir.Op) string {
	s := ""
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if s == "" && !v.IsConst() {
			s = " of " + v.Type.DType.String()
		}
	})
	if len(op.Results) > 0 && s != "" {
		if r := " of " + op.Results[0].Type.DType.String(); r != s {
			s += " to" + r[len(" of"):]
		}
	}
	return s
}

// gate refuses an operation that the target's hardware does not have.
func gate(op string, t *target.Table) error {
	g, ok := target.GateOf(op)
	switch {
	case ok && g.Never:
		return &Refusal{
			Rule:   target.RuleNever,
			What:   "operation",
			Have:   op,
			Limit:  "in no hardware family",
			Reason: "the engine has no " + op,
			Op:     op,
		}
	case ok && !t.Admits(g):
		return &Refusal{Rule: target.RuleFamily, What: "hardware family", Have: t.Family.String(),
			Limit:  g.From.String(),
			Reason: fmt.Sprintf("the engine has %s from family %s on; %s is %s", op, g.From, t.Name, t.Family), Op: op}
	case slices.Contains(t.NoCode, op):
		return &Refusal{Rule: target.RuleNoCode, What: "operation", Have: op, Limit: "no code generation on " + t.Name,
			Reason: fmt.Sprintf("no code generation is known for %s on %s", op, t.Name), Op: op}
	}
	return nil
}
