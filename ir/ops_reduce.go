package ir

import (
	"slices"
)

// Reduce is what the arguments of a reduction say.
type Reduce struct {
	Axes     []int // ascending, from the front; every axis when the argument is absent
	KeepDims bool
}

// ReduceAttrs decodes a reduction over axes, or over one axis (reduce_argmax,
// reduce_argmin).
func ReduceAttrs(op *Op) (Reduce, error) {
	var r Reduce
	var err error
	if r.KeepDims, err = needBool(op, "keep_dims"); err != nil {
		return r, err
	}
	rank := op.Arg("x").Type.Rank()
	if op.Def.ParamIndex("axis") >= 0 {
		a, err := AxisAttr(op, "axis", rank)
		r.Axes = []int{a}
		return r, err
	}
	if op.Arg("axes") == nil {
		for i := range rank {
			r.Axes = append(r.Axes, i)
		}
		return r, nil
	}
	v, err := needInts(op, "axes")
	if err != nil {
		return r, err
	}
	if r.Axes, err = axes("axes", v, rank); err != nil {
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
	t := op.Arg("x").Type
	return one(t.WithShape(r.Shape(t.Shape)...))
}

func inferArgReduce(op *Op) ([]Type, error) {
	r, err := ReduceAttrs(op)
	if err != nil {
		return nil, err
	}
	t := Int32
	if op.Def.ParamIndex("output_dtype") >= 0 {
		if t, err = needDType(op, "output_dtype", ClassOf(Int32, UInt16)); err != nil {
			return nil, err
		}
	}
	return one(TensorOf(t, r.Shape(op.Arg("x").Type.Shape)...))
}

func init() {
	for _, r := range []namedDoc{
		{"reduce_l1_norm", "Sum of absolute values over axes."},
		{"reduce_l2_norm", "Root of the sum of squares over axes."},
		{"reduce_log_sum", "Logarithm of the sum over axes."},
		{"reduce_log_sum_exp", "Logarithm of the sum of exponentials over axes."},
		{"reduce_max", "Largest element over axes."},
		{"reduce_mean", "Mean over axes."},
		{"reduce_min", "Smallest element over axes."},
		{"reduce_prod", "Product over axes."},
		{"reduce_sum", "Sum over axes."},
		{"reduce_sum_square", "Sum of squares over axes."},
	} {
		register(&OpDef{Name: r.name, Doc: r.doc,
			Params: params(in("x", clsNum).as("T"), intP("axes").opt(), boolP("keep_dims").or(false)),
			Infer:  inferReduce})
	}
	for _, r := range []namedDoc{
		{"reduce_argmax", "Index of the largest element along axis, the lowest of equals."},
		{"reduce_argmin", "Index of the smallest element along axis, the lowest of equals."},
	} {
		d := &OpDef{Name: r.name, Doc: r.doc,
			Params: params(in("x", clsNum).as("T"), intP("axis").or(int64(-1)), boolP("keep_dims").or(false)),
			Infer:  inferArgReduce}
		register(d, d.since("ios17", func(d *OpDef) {
			d.Params = append(d.Params, stringP("output_dtype").or("int32"))
		}))
	}
}
