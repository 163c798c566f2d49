package ir

import (
	"math"
	"testing"
)

// Shapes with the largest dimensions and a zero have no elements, so folds over them must return at once.
func TestEmptyTensorsWithLargeDimensionsFoldAtOnce(t *testing.T) {
	huge := &Value{Name: "x", Type: TensorOf(FP16, math.MaxInt32, math.MaxInt32, 0)}
	huge.Const = &Const{Type: huge.Type}
	for _, op := range []*Op{
		mkop(t, "gather", "ios15", args{"x": huge, "indices": lit(ConstInts(Int32, 0, 1)), "axis": n(0)}),
		mkop(t, "transpose", "ios15", args{"x": huge, "perm": lit(ConstInts(Int32, 1, 0, 2))}),
	} {
		if _, err := FoldOp(op); err != nil {
			t.Errorf("%s: %v", op.Def.Name, err)
		}
	}
	join := mkop(t, "concat", "ios15", args{"axis": n(2), "interleave": lit(ConstBool(false))})
	join.Args[join.Def.ParamIndex("values")] = []*Value{huge, huge}
	if _, err := FoldOp(join); err != nil {
		t.Errorf("concat: %v", err)
	}
}

// The vectors of a batch norm have one element per channel.
func TestBatchNormRejectsVectorsOfWrongLength(t *testing.T) {
	x := &Value{Name: "x", Type: TensorOf(FP16, 1, 4, 2, 2)}
	for _, tt := range []struct {
		mean, variance int64
		ok             bool
	}{{4, 4, true}, {4, 3, false}, {3, 4, false}, {8, 8, false}} {
		op := mkop(t, "batch_norm", "ios15", args{
			"x":        x,
			"mean":     h([]int64{tt.mean}, make([]float64, tt.mean)...),
			"variance": h([]int64{tt.variance}, make([]float64, tt.variance)...),
		})
		if _, err := InferOp(op); (err == nil) != tt.ok {
			t.Errorf("mean of %d and variance of %d: %v", tt.mean, tt.variance, err)
		}
	}
}
