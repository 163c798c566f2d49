package lower

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// TensorRules are the IDs of the rules that apply to every operation.
var TensorRules = []string{
	target.RuleValueKind, target.RuleFloatType, target.RuleElementType, target.RuleDynamic, target.RuleRank,
	target.RuleEmpty, target.RuleExtent, target.RuleSurfaces, target.RuleTasks, target.RuleRecord,
}

// limitText describes what a rule requires on a target, "" for nothing.
var limitText = map[string]func(t *target.Table) string{
	target.RuleKernel: func(t *target.Table) string {
		row := ""
		if t.MaxRowKernel < t.MaxKernelW {
			row = fmt.Sprintf(" (%d wide in one row)", t.MaxRowKernel)
		}
		return fmt.Sprintf("kernels up to %d wide%s and %d high, dilation included", t.MaxKernelW, row, t.MaxKernelH)
	},
	target.RuleStride:  func(t *target.Table) string { return fmt.Sprintf("strides up to %d", t.MaxStride) },
	target.RulePadding: func(t *target.Table) string { return fmt.Sprintf("leading padding up to %d", t.MaxPad) },
	target.RuleGroups:  func(t *target.Table) string { return fmt.Sprintf("up to %d groups", t.MaxGroups) },
	target.RuleKernelBytes: func(t *target.Table) string {
		return fmt.Sprintf("coefficients of one output up to %d bytes", t.KernelBytes)
	},
	target.RuleWindow: func(t *target.Table) string { return fmt.Sprintf("windows up to %d wide and high", t.MaxPool) },
	target.RuleWorkingSet: func(t *target.Table) string {
		return fmt.Sprintf("tensors that are computed over as a whole (32 columns of all summed elements, a "+
			"dimension other than the last, rows reduced together, all channels of a window's rows by 32 columns) "+
			"within %d bytes of L2", t.L2Bytes)
	},
	target.RuleReciprocal: func(*target.Table) string {
		return "constant divisors with a reciprocal in fp16 (magnitudes from 1.53e-05 to 16384)"
	},
	target.RuleRows: func(t *target.Table) string {
		return fmt.Sprintf("rows stay whole, are split or joined whole, or at most %d elements are moved one by one",
			maxSingles)
	},
	target.RuleTasks: func(t *target.Table) string {
		return fmt.Sprintf("up to %d tasks, a quarter of the tasks of a chain", opTasks(t))
	},
	target.RuleRank: func(t *target.Table) string { return fmt.Sprintf("ranks up to %d", t.MaxRank) },
	target.RuleExtent: func(t *target.Table) string {
		return fmt.Sprintf("last dimension up to %d, others up to %d, all operands and results within %d MiB, rows "+
			"padded to 64 bytes and weights packed", t.MaxWidth,
			t.MaxChannels, target.AddressBytes>>20)
	},
	target.RuleRecord: func(t *target.Table) string {
		if t.Lowers == nil {
			return ""
		}
		return "operations in forms of recorded programs, which are " + t.Forms()
	},
	target.RuleSurfaces: func(t *target.Table) string {
		return fmt.Sprintf("up to %d operands and results", t.MaxSurfaces)
	},
}

// Holds returns the IDs of the rules that a lowering rule requires of operations, beyond the rules for every tensor.
func (r *Rule) Holds() []string { return r.limits }

// TensorLimits describes what a target requires of every tensor.
func TensorLimits(t *target.Table) []string { return limitsOf(TensorRules, t) }

// Limits describes what a lowering rule requires of an operation on a target, beyond TensorLimits.
func (r *Rule) Limits(t *target.Table) []string { return limitsOf(r.Holds(), t) }

func limitsOf(ids []string, t *target.Table) []string {
	var out []string
	for _, id := range ids {
		if f := limitText[id]; f != nil {
			if s := f(t); s != "" {
				out = append(out, s)
			}
		} else if d, ok := target.RuleOf(id); ok {
			out = append(out, strings.TrimSpace(d.Doc))
		}
	}
	return out
}

// Explain returns the rule that lowers an operation on a target, or why none does for any arguments.
func Explain(op *ir.Operation, t *target.Table) (*Rule, *Refusal) {
	r := ruleByOp[op]
	err := gate(op, t)
	if err == nil && r == nil {
		err = noRule(op, "")
	}
	no, _ := err.(*Refusal)
	if no == nil && !r.recorded(t) {
		no = unrecorded(op, "", t)
	}
	return r, no
}
