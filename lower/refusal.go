package lower

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Refusal is why the engine does not run an operation.
type Refusal = target.Refusal

// past refuses a number that exceeds its limit.
func past(rule, what string, have, limit int64) error {
	return target.Refuse(rule, what, have, limit, fmt.Sprintf("%s is %d, the limit is %d", what, have, limit))
}

// unknownNow refuses an argument that is known only at run time; called is its name in the reason.
func unknownNow(param ir.ParamName, called string) error {
	return target.Refuse(target.RuleRuntime, string(param), "runtime value", "constant",
		called+" is known only at run time")
}

// noRule refuses an operation without a rule; on describes its operands.
func noRule(op *ir.Operation, on string) error {
	return &Refusal{
		Rule:    target.RuleNoLowering,
		What:    "operation",
		Have:    op.Name + on,
		Limit:   "one that a rule lowers",
		Reason:  "no rule lowers " + op.Name,
		Instead: op.Instead,
	}
}

// unrecorded refuses an operation, on operands that on describes, whose tasks no recorded program of the target shows.
func unrecorded(op *ir.Operation, on string, t *target.Table) *Refusal {
	return &Refusal{
		Rule:   target.RuleRecord,
		What:   "operation",
		Have:   op.Name + on,
		Limit:  t.Forms(),
		Reason: fmt.Sprintf("no recorded program of %s has %s%s", t.Name, op.Name, on),
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

// gate refuses an operation that the target's hardware lacks.
func gate(op *ir.Operation, t *target.Table) error {
	from, gated := target.ParseFamily(string(op.Gate))
	native := op.Native[t.Family.Generation()]
	if native == ir.Gated {
		from, gated = firstWith(op), true
	}
	switch {
	case op.Gate == ir.Never || native == ir.None:
		return &Refusal{
			Rule:    target.RuleNever,
			What:    "operation",
			Have:    op.Name,
			Limit:   "in no hardware family",
			Reason:  "the engine has no " + op.Name,
			Instead: op.Instead,
		}
	case slices.Contains(t.NoCode, op.Name):
		return &Refusal{
			Rule:    target.RuleNoCode,
			What:    "operation",
			Have:    op.Name,
			Limit:   "no code generation on " + t.Name,
			Reason:  fmt.Sprintf("no code generation is known for %s on %s", op.Name, t.Name),
			Instead: op.Instead,
		}
	case native == ir.Bridge && op.Bridge != "":
		return &Refusal{
			Rule:   target.RuleBridge,
			What:   "operation",
			Have:   op.Name,
			Limit:  "a bridge on the engine",
			Reason: "the published table lists " + op.Name + " as a bridge that is " + op.Bridge,
		}
	// The validator gates some operations that measurements found on the hardware. Nothing else makes random numbers:
	// before the gate, their bridge is software.
	case gated && t.Family < from && (t.Family < target.A13 || !native.Has() || op.Class == ir.Randomness):
		return &Refusal{
			Rule:    target.RuleFamily,
			What:    "hardware family",
			Have:    t.Family.String(),
			Limit:   from.String(),
			Reason:  fmt.Sprintf("the engine has %s from family %s on; %s is %s", op.Name, from, t.Name, t.Family),
			Instead: op.Instead,
		}
	}
	return nil
}

// firstWith returns the first family whose generation has an operation that an earlier one lacks.
func firstWith(op *ir.Operation) target.Family {
	f := target.A13
	for f < target.A17 && !op.Native[f.Generation()].Has() {
		f++
	}
	return f
}
