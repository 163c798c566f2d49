package target

import (
	"fmt"
	"slices"
)

// Refusal is why the engine does not run an operation, as facts: the legality rule, the value that breaks it, and what
// the rule allows.
type Refusal struct {
	Rule   string // the legality rule: ID of a row of Rules
	What   string // what was checked: an operand, an attribute, a property
	Have   string // its value
	Limit  string // what the target accepts
	Reason string // the reason in one phrase
	// Instead describes operations with the same result, for an operation that is refused with any arguments.
	Instead string
	State   string // state that breaks the rule, "" for none
}

// Refuse returns the refusal of a rule: have is the value that breaks it, limit what it allows.
func Refuse(rule, what string, have, limit any, reason string) *Refusal {
	return &Refusal{Rule: rule, What: what, Have: fmt.Sprint(have), Limit: fmt.Sprint(limit), Reason: reason}
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

// Hint returns a rewrite that the engine would accept, "" if none is known.
func (r *Refusal) Hint() string {
	if r.Instead != "" {
		return r.Instead
	}
	if d, ok := RuleOf(r.Rule); ok {
		return d.Hint
	}
	return ""
}

// Verdict is the kind of reason for a refusal. Reports of every format show it as this word.
type Verdict string

// Verdicts.
const (
	HardwareCannot Verdict = "hardware-cannot" // a gate or a limit of the target
	ZincCannotYet  Verdict = "zinc-cannot-yet" // the hardware can, but zinc cannot
	NotWorthIt     Verdict = "not-worth-it"    // both can, but the engine takes longer
)

// Words returns the verdict as a heading.
func (v Verdict) Words() string {
	switch v {
	case HardwareCannot:
		return "The engine cannot"
	case ZincCannotYet:
		return "zinc cannot yet"
	case NotWorthIt:
		return "Faster on the CPU"
	}
	return "Placed on the CPU"
}

// hardware contains the rules that follow from a gate or a limit of the hardware, with their sources.
var hardware = map[string]string{
	RuleNever:       operationTable,
	RuleFamily:      operationTable,
	RuleNoCode:      operationTable,
	RuleBridge:      operationTable,
	RuleValueKind:   "tasks read and write only tensors",
	RuleFloatType:   "the fp16 datapath, docs/numerics.md",
	RuleElementType: "the fp16 datapath, docs/numerics.md",
	RuleDynamic:     "task registers hold fixed extents, docs/registers.md",
	RuleRank:        limitTable,
	RuleEmpty:       "task registers hold extents from 1 on, docs/registers.md",
	RuleExtent:      limitTable,
	RuleSurfaces:    "the 5 bits of a buffer-access register number",
	RuleTasks:       "the 16 bits of a task's index",
	RuleKernel:      limitTable,
	RuleStride:      limitTable,
	RulePadding:     "the bits of the padding registers, docs/registers.md",
	RuleGroups:      limitTable,
	RuleKernelBytes: limitTable,
	RuleWindow:      limitTable,
	RuleControl:     "tasks run in sequence, without jumps",
	RuleState:       "a published report of states on the M4",
}

const (
	operationTable = "the published table of operations by generation"
	limitTable     = "the target's published limits"
)

// slower are the rules that depend only on time.
var slower = []string{RuleConversion, RuleIdleMove, RuleCut}

// Verdict returns the kind of reason for the refusal, and its source if it is the hardware.
func (r *Refusal) Verdict() (v Verdict, source string) {
	if source, ok := hardware[r.Rule]; ok {
		return HardwareCannot, source
	}
	if slices.Contains(slower, r.Rule) {
		return NotWorthIt, ""
	}
	return ZincCannotYet, ""
}

// ByHardware reports whether the refusal follows from the hardware, whatever zinc does.
func (r *Refusal) ByHardware() bool { _, ok := hardware[r.Rule]; return ok }

// Rule is one rule that placement checks operations against.
type Rule struct {
	ID   string
	Doc  string // what the rule requires
	Hint string // how to rewrite an operation that breaks it, "" if no rewrite is known
}

// IDs of rules.
const (
	RuleNever         = "never"
	RuleFamily        = "family"
	RuleNoCode        = "no-code"
	RuleBridge        = "bridge"
	RuleNoLowering    = "no-lowering"
	RuleRecord        = "no-record"
	RuleValueKind     = "value-kind"
	RuleFloatType     = "float-type"
	RuleElementType   = "element-type"
	RuleDynamic       = "dynamic-shape"
	RuleRank          = "rank"
	RuleEmpty         = "empty"
	RuleExtent        = "extent"
	RuleSurfaces      = "surfaces"
	RuleTasks         = "tasks"
	RuleRuntime       = "runtime-operand"
	RuleConstants     = "constant-operands"
	RuleSpatialRank   = "spatial-rank"
	RuleKernel        = "kernel-extent"
	RuleStride        = "stride"
	RulePadding       = "padding"
	RuleGroups        = "groups"
	RuleKernelBytes   = "kernel-bytes"
	RuleWindow        = "window"
	RuleCeilMode      = "ceil-mode"
	RuleVector        = "vector-product"
	RuleAxes          = "axes"
	RuleWorkingSet    = "working-set"
	RuleReciprocal    = "reciprocal"
	RuleRows          = "row-change"
	RuleInterleave    = "interleave"
	RuleSlice         = "slice"
	RulePadMode       = "pad-mode"
	RuleActivation    = "activation"
	RuleDecomposition = "decomposition"
	RuleConversion    = "conversion"
	RuleIdleMove      = "idle-move"
	RuleCut           = "cut"
	RuleControl       = "control-flow"
	RuleState         = "state-width"
	RuleOther         = "arguments"
)

// Rules is every legality rule, by ID: what decides whether the engine may run an operation. A lowering rule then
// writes its tasks.
var Rules = []Rule{
	{RuleNever, "the hardware has the operation",
		"move it before or after the operations on the engine, or express it with operations that the engine has"},
	{RuleFamily, "the hardware family has the operation", "express it with operations that older hardware has, or " +
		"choose a later target"},
	{RuleNoCode, "the vendor's compiler generates code for the operation on the target",
		"compute it after the model, from its outputs"},
	{RuleBridge, "the hardware's bridge for the operation is on the engine",
		"make its arguments constants, or compute it before the model"},
	{RuleNoLowering, "zinc has a rule that lowers the operation", ""},
	{RuleRecord, "a recorded program of the target shows how its tasks are written", ""},
	{RuleValueKind, "operands are tensors", "read the state or list into a tensor first"},
	{RuleFloatType, "the engine computes in fp16", "cast to fp16 in the model"},
	{RuleElementType, "the engine computes in fp16, not in integers or truth values", "cast to fp16 where the " +
		"values fit (integers up to 2048 are exact), or move integer operations before or after those on the engine"},
	{RuleDynamic, "every dimension is known at compile time",
		"declare fixed input shapes, or a default shape, in the model"},
	{RuleRank, "ranks are within the engine's",
		"reshape: merge adjacent dimensions that the operation treats alike"},
	{RuleEmpty, "tensors have elements", "remove the operation: it computes nothing"},
	{RuleExtent, "dimensions are within the engine's",
		"split the tensor along that dimension, or reshape part of it into another"},
	{RuleSurfaces, "a procedure has at most as many inputs and outputs as registers for them",
		"divide the operation: several concats or splits of fewer tensors"},
	{RuleTasks, "an operation takes only part of the tasks of a procedure",
		"fewer and larger matrices or images: reshape so that small leading dimensions become rows or channels"},
	{RuleRuntime, "weights, biases and attributes are known at compile time",
		"make the operand a constant; a product of two runtime tensors is a matmul"},
	{RuleConstants, "an operand is live", "store the value that it computes as a constant"},
	{RuleSpatialRank, "one or two spatial dimensions",
		"split the third dimension: one 2-D operation per slice, with the results added or concatenated"},
	{RuleKernel, "kernels are within the engine's, dilation included",
		"split the kernel along that axis: convolve each part with a shifted slice and add the results"},
	{RuleStride, "strides are within the register's",
		"use two operations whose strides multiply to it (6 = 2 * 3), or a stride of 1 and a slice"},
	{RulePadding, "padding is within the register's", "pad in an operation of its own"},
	{RuleGroups, "groups are within the register's", "split the channels and convolve each part"},
	{RuleKernelBytes, "the coefficients of one output fit kernel memory",
		"split the input channels, convolve or multiply each part and add the results"},
	{RuleWindow, "pooling windows are within the engine's",
		"pool twice with windows that multiply to it, or reduce over the axis"},
	{RuleCeilMode, "averages that count padding have no ceil_mode",
		"set exclude_padding_from_average, or pad in an operation of its own"},
	{RuleVector, "products are of matrices", "expand_dims the vector to a matrix of one row or column"},
	{RuleAxes, "the axes of the operation are ones that the engine takes",
		"reshape so that one to three dimensions are computed over"},
	{RuleWorkingSet, "tensors that are computed over as a whole fit L2",
		"reduce in two steps, first over parts of the dimension, or transpose it to the end"},
	{RuleReciprocal, "constant divisors have reciprocals in fp16",
		"scale the dividend and the divisor by the same power of two"},
	{RuleRows, "a reshape keeps rows whole or moves few elements",
		"reshape so that the last dimension stays, or transpose instead"},
	{RuleInterleave, "concat does not interleave", "stack the operands, then transpose and reshape"},
	{RuleSlice, "slices go forward and take rows whole",
		"slice a dimension other than the last, or transpose first; apply a reversal to the weights instead"},
	{RulePadMode, "padding is constant", "pad with a constant, or slice the edge and concat the slice"},
	{RuleActivation, "the activation has a lookup table", "use an activation that `zinc ops` lists"},
	{RuleDecomposition, "the operations that zinc writes for one are few, and so are their constants",
		"split the operation: do it on parts of the tensor and concat the results"},
	{RuleConversion, "conversions are part of a transfer to or from the engine",
		"use one type for the operations around it"},
	{RuleIdleMove, "operations that only move data run on the engine together with ones that compute there", ""},
	{RuleCut, "operations on the engine take less time there, including dispatch and transfers, than on the CPU", ""},
	{RuleControl, "loops and conditions are resolved when the model is compiled, or both branches are cheap",
		"use a loop with a fixed number of iterations, or compute both branches in the model and select"},
	{RuleState, "the last dimension of a state is a multiple of the target's",
		"widen the state: pad written values to the next multiple, slice read values"},
	{RuleOther, "the lowering rule accepts the arguments", ""},
}

// RuleOf returns the rule of an ID.
func RuleOf(id string) (Rule, bool) {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return Rules[i], true
}
