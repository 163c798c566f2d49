package ir

import (
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
)

// Reductions over axes.
var (
	OpReduceL1Norm = &Operation{
		Name: "reduce_l1_norm", Class: Reduction, Error: numerics.Rounded, Gate: A13,
		Doc: "Sum of absolute values over axes.",
	}
	OpReduceL2Norm = &Operation{
		Name: "reduce_l2_norm", Class: Reduction, Error: numerics.Rounded, Gate: A13,
		Doc: "Root of the sum of squares over axes.",
	}
	OpReduceLogSum = &Operation{
		Name: "reduce_log_sum", Class: Reduction, Error: numerics.Rounded, Gate: A13,
		Doc: "Logarithm of the sum over axes.",
	}
	OpReduceLogSumExp = &Operation{
		Name: "reduce_log_sum_exp", Class: Reduction, Error: numerics.Rounded, Gate: A13,
		Doc: "Logarithm of the sum of exponentials over axes.",
	}
	OpReduceMax = &Operation{
		Name: "reduce_max", Class: Reduction, Error: numerics.Movement, Gate: A13, Doc: "Largest element over axes.",
	}
	OpReduceMean = &Operation{
		Name: "reduce_mean", Class: Reduction, Error: numerics.Rounded, Gate: A13, Doc: "Mean over axes.",
	}
	OpReduceMin = &Operation{
		Name: "reduce_min", Class: Reduction, Error: numerics.Movement, Gate: A13, Doc: "Smallest element over axes.",
	}
	OpReduceProd = &Operation{
		Name: "reduce_prod", Class: Reduction, Error: numerics.Rounded, Gate: Never, Doc: "Product over axes.",
		Instead: "log, reduce_sum, exp where every element is positive",
	}
	OpReduceSum = &Operation{
		Name: "reduce_sum", Class: Reduction, Error: numerics.Rounded, Gate: A13, Doc: "Sum over axes.",
	}
	OpReduceSumSquare = &Operation{
		Name: "reduce_sum_square", Class: Reduction, Error: numerics.Rounded, Gate: A13,
		Doc: "Sum of squares over axes.",
	}
	OpReduceArgmax = &Operation{
		Name: "reduce_argmax", Class: Reduction, Error: numerics.Movement, Gate: A15,
		Doc: "Index of the largest element along axis, the lowest of equal ones.",
	}
	OpReduceArgmin = &Operation{
		Name: "reduce_argmin", Class: Reduction, Error: numerics.Movement, Gate: A15,
		Doc: "Index of the smallest element along axis, the lowest of equal ones.",
	}
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
