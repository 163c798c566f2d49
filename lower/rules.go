package lower

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Rule describes how one family of operations becomes tasks.
type Rule struct {
	Name string
	Ops  []*ir.Operation
	Doc  string
	// limits are the IDs of the rules that it checks operations against beyond TensorRules.
	limits []string
	accept func(op *ir.Op, l *limits) error
	lower  func(b *builder, op *ir.Op) error
}

// Rules is the only list of rules.
var Rules = []*Rule{
	{
		Name: "convolution", Ops: ops{ir.OpConv}, accept: acceptConv, lower: ofX(lowerConv),
		Doc: "multiply tasks, cut so that kernels stay resident",
		limits: []string{target.RuleRuntime, target.RuleSpatialRank, target.RuleKernel, target.RuleStride,
			target.RulePadding, target.RuleGroups, target.RuleKernelBytes, target.RuleWorkingSet},
	},
	{
		Name: "linear", Ops: ops{ir.OpLinear}, accept: acceptMatmul, lower: lowerLinear,
		Doc:    "rows transposed to channels, a 1x1 convolution that stores its result transposed back",
		limits: []string{target.RuleVector, target.RuleRuntime, target.RuleKernelBytes, target.RuleWorkingSet},
	},
	{
		Name: "matmul", Ops: ops{ir.OpMatMul}, accept: acceptMatmul, lower: lowerMatmul,
		Doc:    "as linear with a constant; with two runtime operands x is the kernel and y the image",
		limits: []string{target.RuleVector, target.RuleConstants, target.RuleKernelBytes, target.RuleWorkingSet},
	},
	{
		Name: "elementwise", Ops: keys(binaries), accept: acceptBinary, lower: lowerBinary,
		Doc:    "planar engine; scalar constants in its scale and bias registers or in a table",
		limits: []string{target.RuleConstants, target.RuleReciprocal},
	},
	{
		Name: "square", Ops: ops{ir.OpSquare}, accept: acceptMove, lower: ofX(lowerSquare),
		Doc: "planar product with itself",
	},
	{
		Name: "abs", Ops: ops{ir.OpAbs}, accept: acceptMove, lower: ofX(lowerAbs),
		Doc: "planar absolute value",
	},
	{
		Name: "relu", Ops: ops{ir.OpRelu}, accept: acceptMove, lower: ofX(lowerRelu),
		Doc: "neural-engine clamp",
	},
	{
		Name: "clip", Ops: ops{ir.OpClip, ir.OpRelu6}, accept: acceptClip, lower: ofX(lowerClip),
		Doc:    "a table of two lines between the bounds",
		limits: []string{target.RuleRuntime},
	},
	{
		Name: "table", Ops: tabled(), accept: acceptTable, lower: ofX(lowerTable),
		Doc:    "lookup table of 33 knots",
		limits: []string{target.RuleRuntime, target.RuleActivation},
	},
	{
		Name: "compare", Ops: keys(comparisons), accept: acceptCompare, lower: lowerCompare,
		Doc: "a difference, of columns by a kernel of bytes, then a table of its sign; with a scalar the table " +
			"alone",
		limits: []string{target.RuleConstants},
	},
	{
		Name: "logical_not", Ops: ops{ir.OpLogicalNot}, accept: acceptMove, lower: lowerLogicalNot,
		Doc: "a table, from bytes to bytes",
	},
	{
		Name: "select", Ops: ops{ir.OpSelect}, accept: acceptSelect, lower: lowerSelect,
		Doc:    "c*a + (1-c)*b, with c and 1-c as 0 and 1 by table",
		limits: []string{target.RuleConstants},
	},
	{
		Name: "sign", Ops: ops{ir.OpSign}, accept: acceptMove, lower: ofX(lowerSign),
		Doc: "a table (composed)",
	},
	{
		Name: "rounding", Ops: ops{ir.OpCeil, ir.OpFloor}, accept: acceptMove, lower: ofX(lowerRounding),
		Doc: "tables of the parts before and after the point, and of the sign of the latter; a sum",
	},
	{
		Name: "round", Ops: ops{ir.OpRound}, accept: acceptMove, lower: ofX(lowerRound),
		Doc: "as rounding, with ties moved by the half of the part before the point (composed)",
	},
	{
		Name: "cast", Ops: ops{ir.OpCast}, accept: acceptCast, lower: lowerCast,
		Doc: "between booleans and fp16: a table",
	},
	{
		Name: "reduce", Ops: keys(reductions), accept: acceptReduce, lower: ofX(lowerReduce),
		Doc:    "planar engine over rows, neural engine over channels",
		limits: []string{target.RuleAxes, target.RuleWorkingSet},
	},
	{
		Name: "softmax", Ops: ops{ir.OpSoftmax}, accept: acceptSoftmax, lower: ofX(lowerSoftmax),
		Doc:    "maximum, difference, 2^t by table, reciprocal of the sum, product",
		limits: []string{target.RuleWorkingSet},
	},
	{
		Name: "layer_norm", Ops: ops{ir.OpLayerNorm}, accept: acceptLayerNorm, lower: ofX(lowerLayerNorm),
		Doc:    "mean, reciprocal deviation, normalisation with the pair in L2; scale and shift as constants",
		limits: []string{target.RuleAxes, target.RuleRuntime, target.RuleWorkingSet},
	},
	{
		Name: "pool", Ops: ops{ir.OpMaxPool, ir.OpAvgPool}, accept: acceptPool, lower: ofX(lowerPool),
		Doc: "planar window (modelled)",
		limits: []string{target.RuleSpatialRank, target.RuleWindow, target.RuleStride, target.RulePadding,
			target.RuleCeilMode},
	},
	{
		Name: "concat", Ops: ops{ir.OpConcat}, accept: acceptConcat, lower: lowerConcat,
		Doc:    "copies, one after the other",
		limits: []string{target.RuleInterleave},
	},
	{
		Name: "stack", Ops: ops{ir.OpStack}, accept: acceptMove, lower: lowerStack,
		Doc: "copies along a new axis",
	},
	{
		Name: "tile", Ops: ops{ir.OpTile}, accept: acceptTile, lower: ofX(lowerTile),
		Doc:    "one planar task that reads each row several times",
		limits: []string{target.RuleRuntime, target.RuleAxes},
	},
	{
		Name: "split", Ops: ops{ir.OpSplit}, accept: acceptMove, lower: ofX(lowerSplit),
		Doc: "views",
	},
	{
		Name: "slice", Ops: ops{ir.OpSliceByIndex, ir.OpSliceBySize}, accept: acceptSlice, lower: ofX(lowerSlice),
		Doc:    "views",
		limits: []string{target.RuleSlice},
	},
	{
		Name: "pad", Ops: ops{ir.OpPad}, accept: acceptPad, lower: ofX(lowerPad),
		Doc:    "fill and copy",
		limits: []string{target.RulePadMode, target.RuleRuntime},
	},
	{
		Name: "transpose", Ops: ops{ir.OpTranspose}, accept: acceptMove, lower: lowerTranspose,
		Doc: "a view, or a pass that exchanges channels and width",
	},
	{
		Name: "reshape", Ops: ops{ir.OpReshape, ir.OpExpandDims, ir.OpSqueeze}, accept: acceptReshape,
		lower: ofX(lowerReshape),
		Doc: "a view where rows stay whole, else two exchanges of rows and columns, or a copy through single " +
			"elements",
		limits: []string{target.RuleRows},
	},
	{
		Name: "fill", Ops: ops{ir.OpFill, ir.OpFillLike}, accept: acceptFill, lower: lowerFill,
		Doc:    "one number broadcast to the result",
		limits: []string{target.RuleRuntime},
	},
	{
		Name: "bytes", Ops: ops{ir.OpToBytes, ir.OpFromBytes}, accept: acceptBytes, lower: lowerBytes,
		Doc: "rows of bytes to numbers or back; exchanges of rows and columns between them separate the bytes of " +
			"an element (composed)",
	},
	{
		Name: "identity", Ops: ops{ir.OpIdentity}, accept: acceptMove, lower: ofX(lowerAlias),
		Doc: "nothing",
	},
}

type ops = []*ir.Operation

// ofX is the rule of an operation whose operand x is a tensor.
func ofX(lower func(b *builder, op *ir.Op, x *view) error) func(b *builder, op *ir.Op) error {
	return func(b *builder, op *ir.Op) error {
		x, err := b.tensor(op.Arg(ir.ParamX))
		if err != nil {
			return err
		}
		return lower(b, op, x)
	}
}

// Moves reports whether a rule moves data and computes nothing.
func (r *Rule) Moves() bool { return r.Ops[0].Class == ir.Movement }

// keys returns the operations of a table in the order of the operation registry.
func keys[T any](table map[*ir.Operation]T) (os ops) {
	for _, o := range ir.Operations {
		if _, ok := table[o]; ok {
			os = append(os, o)
		}
	}
	return os
}

var ruleByOp = func() map[*ir.Operation]*Rule {
	m := map[*ir.Operation]*Rule{}
	for _, r := range Rules {
		for _, o := range r.Ops {
			m[o] = r
		}
	}
	return m
}()

func ruleFor(op *ir.Op) *Rule { return ruleByOp[op.Def.Operation] }

// accept reports which rule lowers an operation for a target and how many tasks it takes, or why no rule does.
func accept(op *ir.Op, t *target.Table, time *Estimator) (a target.Acceptance, err error) {
	r := ruleFor(op)
	if r != nil {
		a.Rule, a.Moves = r.Name, r.Moves()
	}
	if no := gate(op.Def.Operation, t); no != nil {
		return a, no
	}
	if no := computedExtent(op); no != nil {
		return a, no
	}
	if r == nil {
		return a, noRule(op.Def.Operation, typesOf(op))
	}
	l := &limits{t: t, bools: takesBools(op)}
	unrecorded := recorded(op, r, t)
	if err = r.accept(op, l); err == nil && unrecorded == nil {
		see := func(*td.Task) {}
		if time != nil {
			a.Nanos = time.Constants(constantsOf(l.t, op))
			took := int64(0)
			see = func(t *td.Task) {
				took += time.Task(t)
				a.Nanos = max(a.Nanos, took)
			}
		}
		a.Tasks, err = l.trial(r, op, see)
	}
	if err == nil && unrecorded == nil {
		return a, nil
	}
	var no *Refusal
	switch known := errors.As(err, &no); {
	case known && no.ByHardware():
		return a, no
	case unrecorded != nil:
		return a, l.before(unrecorded, op)
	case !known:
		no = target.Refuse(target.RuleOther, "arguments", op.Def.Name, "see zinc ops", err.Error())
	}
	return a, l.before(no, op)
}

// recorded reports whether the target lowers operations by the rule.
func (r *Rule) recorded(t *target.Table) bool {
	return t.Lowers == nil || slices.Contains(t.Lowers, r.Name)
}

// recorded refuses an operation whose tasks are not recorded, on a target where that is required.
func recorded(op *ir.Op, r *Rule, t *target.Table) *Refusal {
	switch {
	case !r.recorded(t):
		return unrecorded(op.Def.Operation, "", t)
	case t.Lowers != nil && isDynamicMatMul(op):
		return unrecorded(op.Def.Operation, " of two tensors", t)
	}
	return nil
}

// computedExtent refuses an operation that decides the size of its result at run time.
func computedExtent(op *ir.Op) error {
	known := func(v *ir.Value) bool { return v.Type.Kind != ir.Tensor || v.Type.Static() }
	given := true
	op.Operands(func(_ *ir.Param, v *ir.Value) { given = given && known(v) })
	for _, v := range op.Results {
		if given && !known(v) {
			return target.Refuse(target.RuleDynamic, "result", ir.ShapeString(v.Type.Shape), "known dimensions",
				fmt.Sprintf("the operands decide at run time how large the result is: %s", v.Type))
		}
	}
	return nil
}

// limits checks operands against a target's table.
type limits struct {
	t     *target.Table
	bools bool // tensors may be booleans
	ints  bool // tensors may be integers
}

// before returns the refusal of the hardware for the tensors of an operation, if there is one, instead of what zinc
// cannot do yet: whoever reads it could not use the operation anyway.
func (l *limits) before(no *Refusal, op *ir.Op) *Refusal {
	var first *Refusal
	if no.ByHardware() || !errors.As(l.tensors(op), &first) || !first.ByHardware() {
		return no
	}
	return first
}

// tensors checks every tensor of an operation: element type, rank, extents. Constants of the parameters in packed
// become coefficients, which have no rows and therefore no padding. (Integers among other constants are not checked,
// since their meaning varies.)
func (l *limits) tensors(op *ir.Op, packed ...ir.ParamName) error {
	var err error
	live, size := len(op.Results), int64(0)
	seen := map[*ir.Value]bool{}
	note := func(name string, v *ir.Value, operand bool) {
		rows := !operand || !v.IsConst() || !slices.Contains(packed, ir.ParamName(name))
		if err != nil || operand && rows && v.IsConst() && !v.Type.DType.IsFloat() {
			return
		}
		if operand && !v.IsConst() {
			live++
		}
		if err = l.tensor(name, v, rows); err == nil && !v.IsConst() && !seen[v] {
			seen[v] = true
			size += paddedBytes(v.Type)
		}
	}
	op.Operands(func(p *ir.Param, v *ir.Value) { note(string(p.Name), v, true) })
	for _, r := range op.Results {
		note("result", r, false)
	}
	if err == nil && live > l.t.MaxSurfaces {
		return target.Refuse(target.RuleSurfaces, "tensors read and given", live, l.t.MaxSurfaces,
			fmt.Sprintf("reads and gives %d tensors, a procedure has registers for %d", live, l.t.MaxSurfaces))
	}
	if err == nil && size > target.AddressBytes {
		return target.Refuse(target.RuleExtent, "padded bytes of all tensors", size, int64(target.AddressBytes),
			fmt.Sprintf("reads and gives tensors of %d bytes, rows padded; a program addresses %d bytes", size,
				int64(target.AddressBytes)))
	}
	return err
}

// tensor checks one tensor, which is stored in padded rows or packed.
func (l *limits) tensor(name string, v *ir.Value, rows bool) error {
	t := v.Type
	scalar := v.IsConst() && t.Elems() == 1
	switch {
	case t.Kind != ir.Tensor:
		return target.Refuse(target.RuleValueKind, name, t, "tensor", fmt.Sprintf("%s is a %s", name, t))
	case scalar && t.DType.IsFloat():
		return nil
	case t.DType != ir.FP16 && t.DType.IsFloat():
		return target.Refuse(target.RuleFloatType, name, t.DType, ir.FP16,
			fmt.Sprintf("%s is %s; the engine computes in fp16", name, t.DType))
	case t.DType != ir.FP16 && !(l.bools && t.DType == ir.Bool) && !(l.ints && ir.Bytes(t.DType) > 0):
		return target.Refuse(target.RuleElementType, name, t.DType, ir.FP16,
			fmt.Sprintf("%s is %s; the engine computes in fp16", name, t.DType))
	case !t.Static():
		return target.Refuse(target.RuleDynamic, name, ir.ShapeString(t.Shape), "known dimensions",
			fmt.Sprintf("%s has an unknown dimension: %s", name, t))
	case t.Rank() > l.t.MaxRank:
		return target.Refuse(target.RuleRank, "rank of "+name, t.Rank(), l.t.MaxRank,
			fmt.Sprintf("%s has rank %d, the limit is %d", name, t.Rank(), l.t.MaxRank))
	case t.Elems() <= 0:
		return target.Refuse(target.RuleEmpty, name, ir.ShapeString(t.Shape), "at least one element", name+" is empty")
	}
	for i, d := range t.Shape {
		most := int64(l.t.MaxChannels)
		if i == t.Rank()-1 {
			most = int64(l.t.MaxWidth)
		}
		if d > most && !v.IsConst() {
			return target.Refuse(target.RuleExtent, fmt.Sprintf("dimension %d of %s", i, name), d, most,
				fmt.Sprintf("dimension %d of %s is %d, the limit is %d", i, name, d, most))
		}
	}
	what, size := "bytes of "+name, t.Bytes()
	if rows {
		what, size = "padded "+what, paddedBytes(t)
	}
	if size > target.AddressBytes {
		return target.Refuse(target.RuleExtent, what, ir.ShapeString(t.Shape), int64(target.AddressBytes),
			fmt.Sprintf("%s of shape %s takes more than the %d bytes that a program addresses", name,
				ir.ShapeString(t.Shape), int64(target.AddressBytes)))
	}
	return nil
}

// paddedBytes returns the bytes of a tensor whose rows are padded, or more than target.AddressBytes: each dimension is
// bounded, their product is not.
func paddedBytes(t ir.Type) int64 {
	dims := tensorDims(t)
	size := rowBytes(dims[len(dims)-1])
	for _, d := range dims[:len(dims)-1] {
		if size > target.AddressBytes/d {
			return target.AddressBytes + 1
		}
		size *= d
	}
	return size
}

func acceptClip(op *ir.Op, l *limits) error {
	for _, p := range []ir.ParamName{ir.ParamAlpha, ir.ParamBeta} {
		if _, ok := ir.ArgFloat(op, p); !ok && op.Is(ir.OpClip) {
			return unknownNow(p, string(p))
		}
	}
	return l.tensors(op)
}
