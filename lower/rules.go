package lower

import (
	"errors"
	"fmt"
	"sort"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Rule says how one family of operations becomes tasks.
type Rule struct {
	Name string
	Ops  []string
	Doc  string
	// Moves marks rules that move data and compute nothing.
	Moves  bool
	accept func(op *ir.Op, l *limits) error
	lower  func(b *builder, op *ir.Op) error
}

// Rules is the one list of rules.
var Rules = []*Rule{
	{Name: "convolution", Ops: []string{"conv"}, accept: acceptConv, lower: lowerConv,
		Doc: "multiply tasks, cut so that kernels stay resident"},
	{Name: "linear", Ops: []string{"linear"}, accept: acceptMatmul, lower: lowerLinear,
		Doc: "rows turned into channels, then a 1x1 convolution that stores its result turned back"},
	{Name: "matmul", Ops: []string{"matmul"}, accept: acceptMatmul, lower: lowerMatmul,
		Doc: "as linear with a constant; with two runtime operands x is the kernel and y the image"},
	{Name: "elementwise", Ops: []string{"add", "sub", "mul", "maximum", "minimum", "real_div"}, accept: acceptBinary,
		lower: lowerBinary,
		Doc:   "planar engine; scalar constants in its scale and bias registers or in a table"},
	{Name: "square", Ops: []string{"square"}, accept: acceptMove, lower: lowerSquare,
		Doc: "planar product with itself"},
	{Name: "abs", Ops: []string{"abs"}, accept: acceptMove, lower: lowerAbs, Doc: "planar absolute value"},
	{Name: "relu", Ops: []string{"relu"}, accept: acceptMove, lower: lowerRelu, Doc: "neural-engine clamp"},
	{Name: "clip", Ops: []string{"clip", "relu6"}, accept: acceptClip, lower: lowerClip,
		Doc: "a table of two lines between the bounds"},
	{Name: "table", Ops: tableOpNames(), accept: acceptTable, lower: lowerTable, Doc: "lookup table of 33 knots"},
	{Name: "reduce", Ops: []string{"reduce_sum", "reduce_mean", "reduce_max", "reduce_sum_square"},
		accept: acceptReduce, lower: lowerReduce,
		Doc: "planar engine over rows, neural engine over channels"},
	{Name: "softmax", Ops: []string{"softmax"}, accept: acceptSoftmax, lower: lowerSoftmax,
		Doc: "maximum, difference, 2^t by table, reciprocal of the sum, product"},
	{Name: "layer_norm", Ops: []string{"layer_norm"}, accept: acceptLayerNorm, lower: lowerLayerNorm,
		Doc: "mean, reciprocal deviation, normalisation with the pair in L2; scale and shift as constants"},
	{Name: "pool", Ops: []string{"max_pool", "avg_pool"}, accept: acceptPool, lower: lowerPool,
		Doc: "planar window (modelled)"},
	{Name: "concat", Ops: []string{"concat"}, Moves: true, accept: acceptConcat, lower: lowerConcat,
		Doc: "copies behind each other"},
	{Name: "stack", Ops: []string{"stack"}, Moves: true, accept: acceptMove, lower: lowerStack,
		Doc: "copies along a new axis"},
	{Name: "split", Ops: []string{"split"}, Moves: true, accept: acceptMove, lower: lowerSplit, Doc: "views"},
	{Name: "slice", Ops: []string{"slice_by_index", "slice_by_size"}, Moves: true, accept: acceptSlice,
		lower: lowerSlice, Doc: "views"},
	{Name: "pad", Ops: []string{"pad"}, Moves: true, accept: acceptPad, lower: lowerPad, Doc: "fill and copy"},
	{Name: "transpose", Ops: []string{"transpose"}, Moves: true, accept: acceptMove, lower: lowerTranspose,
		Doc: "a view, or a pass that exchanges channels and width"},
	{Name: "reshape", Ops: []string{"reshape", "expand_dims", "squeeze"}, Moves: true, accept: acceptReshape,
		lower: lowerReshape,
		Doc:   "a view where rows stay whole, else a copy through single elements"},
	{Name: "identity", Ops: []string{"identity"}, Moves: true, accept: acceptMove, lower: lowerAlias, Doc: "nothing"},
}

func tableOpNames() []string {
	ns := []string{"gelu"}
	for n := range tableOps {
		ns = append(ns, n)
	}
	sort.Strings(ns)
	return ns
}

var ruleByOp = func() map[string]*Rule {
	m := map[string]*Rule{}
	for _, r := range Rules {
		for _, n := range r.Ops {
			m[n] = r
		}
	}
	return m
}()

func ruleFor(op *ir.Op) *Rule { return ruleByOp[op.Def.Name] }

// Accept reports which rule lowers an operation for a target and what it makes of
// it, or why none does.
func Accept(op *ir.Op, t *target.Table) (a target.Acceptance, err error) {
	r := ruleFor(op)
	if r != nil {
		a.Rule, a.Moves = r.Name, r.Moves
	}
	if no := gate(op.Def.Operation, t); no != nil {
		return a, no
	}
	if r == nil {
		return a, noRule(op.Def.Operation, typesOf(op))
	}
	l := &limits{t: t}
	if err = r.accept(op, l); err == nil {
		a.Tasks, err = l.trial(r, op)
	}
	var no *Refusal
	if err != nil && !errors.As(err, &no) {
		err = refuse(target.RuleOther, "arguments", op.Def.Name, "see zinc ops", err.Error())
	}
	return a, err
}

// limits checks operands against a target's table.
type limits struct{ t *target.Table }

// tensors checks every tensor of an operation: element type, rank, extents.
func (l *limits) tensors(op *ir.Op) error {
	var err error
	live, size := len(op.Results), int64(0)
	seen := map[*ir.Value]bool{}
	note := func(name string, v *ir.Value, operand bool) {
		if err != nil || operand && v.IsConst() && !v.Type.DType.IsFloat() {
			return
		}
		if operand && !v.IsConst() {
			live++
		}
		if err = l.tensor(name, v); err == nil && !v.IsConst() && !seen[v] {
			seen[v] = true
			size += paddedBytes(v.Type)
		}
	}
	op.Operands(func(p *ir.Param, v *ir.Value) { note(p.Name, v, true) })
	for _, r := range op.Results {
		note("result", r, false)
	}
	if err == nil && live > l.t.MaxSurfaces {
		return refuse(target.RuleSurfaces, "tensors read and given", live, l.t.MaxSurfaces,
			fmt.Sprintf("reads and gives %d tensors, a procedure has registers for %d", live, l.t.MaxSurfaces))
	}
	if err == nil && size > target.AddressBytes {
		return refuse(target.RuleExtent, "padded bytes of all tensors", size, int64(target.AddressBytes),
			fmt.Sprintf("reads and gives tensors of %d bytes, rows padded; a program addresses %d bytes", size,
				int64(target.AddressBytes)))
	}
	return err
}

// coefficients checks constants whose bytes become coefficients: tensors leaves
// integers among the constants to what they mean.
func (l *limits) coefficients(op *ir.Op, params ...string) error {
	for _, p := range params {
		if v := op.Arg(p); v != nil && v.IsConst() {
			if err := l.tensor(p, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *limits) tensor(name string, v *ir.Value) error {
	t := v.Type
	scalar := v.IsConst() && t.Elems() == 1
	switch {
	case t.Kind != ir.Tensor:
		return refuse(target.RuleValueKind, name, t, "tensor", fmt.Sprintf("%s is a %s", name, t))
	case scalar && t.DType.IsFloat():
		return nil
	case t.DType != ir.FP16 && t.DType.IsFloat():
		return refuse(target.RuleFloatType, name, t.DType, ir.FP16,
			fmt.Sprintf("%s is %s; the engine computes in fp16 (--precision=fp16 converts)", name, t.DType))
	case t.DType != ir.FP16:
		return refuse(target.RuleElementType, name, t.DType, ir.FP16,
			fmt.Sprintf("%s is %s; the engine computes in fp16", name, t.DType))
	case !t.Static():
		return refuse(target.RuleDynamic, name, ir.ShapeString(t.Shape), "known dimensions",
			fmt.Sprintf("%s has an unknown dimension: %s", name, t))
	case t.Rank() > l.t.MaxRank:
		return refuse(target.RuleRank, "rank of "+name, t.Rank(), l.t.MaxRank,
			fmt.Sprintf("%s has rank %d, the limit is %d", name, t.Rank(), l.t.MaxRank))
	case t.Elems() <= 0:
		return refuse(target.RuleEmpty, name, ir.ShapeString(t.Shape), "at least one element", name+" is empty")
	}
	for i, d := range t.Shape {
		most := int64(l.t.MaxChannels)
		if i == t.Rank()-1 {
			most = int64(l.t.MaxWidth)
		}
		if d > most && !v.IsConst() {
			return refuse(target.RuleExtent, fmt.Sprintf("dimension %d of %s", i, name), d, most,
				fmt.Sprintf("dimension %d of %s is %d, the limit is %d", i, name, d, most))
		}
	}
	if paddedBytes(t) > target.AddressBytes {
		return refuse(target.RuleExtent, "padded bytes of "+name, ir.ShapeString(t.Shape), int64(target.AddressBytes),
			fmt.Sprintf("%s of shape %s takes more than the %d bytes that a program addresses", name,
				ir.ShapeString(t.Shape), int64(target.AddressBytes)))
	}
	return nil
}

// paddedBytes returns the bytes of a tensor whose rows are padded, or more than
// target.AddressBytes: each dimension is bounded, their product is not.
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
	for _, p := range []string{"alpha", "beta"} {
		if _, ok := ir.ArgFloat(op, p); !ok && op.Def.Name == "clip" {
			return unknownNow(p, p)
		}
	}
	return l.tensors(op)
}
