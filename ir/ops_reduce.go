package ir

import (
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
)

// Reductions over axes.
var (
	OpReduceL1Norm = newOp("reduce_l1_norm", Reduction, "Sum of absolute values over axes.").err(numerics.Rounded).
			gate(A13)
	OpReduceL2Norm = newOp("reduce_l2_norm", Reduction, "Root of the sum of squares over axes.").err(numerics.Rounded).
			gate(A13)
	OpReduceLogSum = newOp("reduce_log_sum", Reduction, "Logarithm of the sum over axes.").err(numerics.Rounded).
			gate(A13)
	OpReduceLogSumExp = newOp("reduce_log_sum_exp", Reduction, "Logarithm of the sum of exponentials over axes.").
				err(numerics.Rounded).gate(A13)
	OpReduceMax  = newOp("reduce_max", Reduction, "Largest element over axes.").err(numerics.Movement).gate(A13)
	OpReduceMean = newOp("reduce_mean", Reduction, "Mean over axes.").err(numerics.Rounded).gate(A13)
	OpReduceMin  = newOp("reduce_min", Reduction, "Smallest element over axes.").err(numerics.Movement).gate(A13)
	OpReduceProd = newOp("reduce_prod", Reduction, "Product over axes.").err(numerics.Rounded).gate(Never).
			instead("log, reduce_sum, exp where every element is positive")
	OpReduceSum       = newOp("reduce_sum", Reduction, "Sum over axes.").err(numerics.Rounded).gate(A13)
	OpReduceSumSquare = newOp("reduce_sum_square", Reduction, "Sum of squares over axes.").err(numerics.Rounded).
				gate(A13)
	OpReduceArgmax = newOp("reduce_argmax", Reduction,
		"Index of the largest element along axis, the lowest of equal ones.").err(numerics.Movement).gate(A15)
	OpReduceArgmin = newOp("reduce_argmin", Reduction,
		"Index of the smallest element along axis, the lowest of equal ones.").err(numerics.Movement).gate(A15)
)

// Reduce is the decoded arguments of a reduction.
type Reduce struct {
	Axes     []int // ascending, from the front; all axes if the argument is absent
	KeepDims bool
}

// ReduceAttrs decodes a reduction over axes, or over one axis (reduce_argmax,
// reduce_argmin).
func ReduceAttrs(op *Op) (Reduce, error) {
	var r Reduce
	var err error
	if r.KeepDims, err = needBool(op, ParamKeepDims); err != nil {
		return r, err
	}
	rank := op.Arg(ParamX).Type.Rank()
	if op.Def.ParamIndex(ParamAxis) >= 0 {
		a, err := AxisAttr(op, ParamAxis, rank)
		r.Axes = []int{a}
		return r, err
	}
	if op.Arg(ParamAxes) == nil {
		for i := range rank {
			r.Axes = append(r.Axes, i)
		}
		return r, nil
	}
	v, err := needInts(op, ParamAxes)
	if err != nil {
		return r, err
	}
	if r.Axes, err = axes(ParamAxes, v, rank); err != nil {
		return r, err
	}
	slices.Sort(r.Axes)
	return r, nil
}

// Shape returns the shape of the reduced tensor.
func (r Reduce) Shape(x []int64) []int64 {
	out := make([]int64, 0, len(x))
	for i, d := range x {
		switch {
		case !slices.Contains(r.Axes, i):
			out = append(out, d)
		case r.KeepDims:
			out = append(out, 1)
		}
	}
	return out
}

func inferReduce(op *Op) ([]Type, error) {
	r, err := ReduceAttrs(op)
	if err != nil {
		return nil, err
	}
	t := op.Arg(ParamX).Type
	return one(t.WithShape(r.Shape(t.Shape)...))
}

func inferArgReduce(op *Op) ([]Type, error) {
	r, err := ReduceAttrs(op)
	if err != nil {
		return nil, err
	}
	t := Int32
	if op.Def.ParamIndex(ParamOutputDType) >= 0 {
		if t, err = needDType(op, ParamOutputDType, DTypesOf(Int32, UInt16)); err != nil {
			return nil, err
		}
	}
	return one(TensorOf(t, r.Shape(op.Arg(ParamX).Type.Shape)...))
}

// reduceForms are the forms of the operations above.
func reduceForms() (out forms) {
	for _, o := range []*Operation{OpReduceL1Norm, OpReduceL2Norm, OpReduceLogSum, OpReduceLogSumExp, OpReduceMax,
		OpReduceMean, OpReduceMin, OpReduceProd, OpReduceSum, OpReduceSumSquare} {
		out.add(&OpDef{Operation: o,
			Params: params(in(ParamX, clsNum).as("T"), intP(ParamAxes).opt(), boolP(ParamKeepDims).or(false)),
			Infer:  inferReduce})
	}
	for _, o := range []*Operation{OpReduceArgmax, OpReduceArgmin} {
		d := &OpDef{Operation: o,
			Params: params(in(ParamX, clsNum).as("T"), intP(ParamAxis).or(int64(-1)), boolP(ParamKeepDims).or(false)),
			Infer:  inferArgReduce}
		out.add(d, d.since("ios17", func(d *OpDef) {
			d.Params = append(d.Params, stringP(ParamOutputDType).or("int32"))
		}))
	}
	return out
}
