package passes_test

import (
	"bytes"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
)

// castOf folds a cast of c to type t.
func castOf(t *testing.T, c *ir.Const, to ir.DType) *ir.Const {
	t.Helper()
	op := &ir.Op{Def: ir.Lookup("cast", "ios18")}
	op.Args = make([][]*ir.Value, len(op.Def.Params))
	op.SetArg(ir.ParamX, &ir.Value{Type: c.Type, Const: c})
	kind := ir.ConstString(to.String())
	op.SetArg(ir.ParamDType, &ir.Value{Type: kind.Type, Const: kind})
	cs, err := ir.FoldOp(op)
	if err != nil || len(cs) != 1 {
		t.Fatalf("cast from %s to %s folds to %v: %v", c.Type.DType, to, cs, err)
	}
	return cs[0]
}

// TestCastsMergeOnlyWhereNoValueChanges merges two casts on every number of the smaller types, and on numbers of the
// larger types around each power of two.
func TestCastsMergeOnlyWhereNoValueChanges(t *testing.T) {
	types := []ir.DType{ir.Bool, ir.FP16, ir.FP32, ir.Int8, ir.UInt8, ir.Int16, ir.UInt16, ir.Int32}
	merged := 0
	for _, from := range types {
		c := &ir.Const{}
		switch from.Bits() {
		case 8, 16:
			for i := range int64(1) << from.Bits() {
				if from == ir.Bool {
					c.Data = append(c.Data, byte(i&1))
				} else {
					c.Data = ir.AppendInt(c.Data, ir.Int16, i)[:len(c.Data)+from.Bits()/8]
				}
			}
		default:
			for k := range 31 {
				for d := range int64(3) {
					c.Data = ir.AppendElem(c.Data, from, float64(int64(1)<<k+d-1))
					c.Data = ir.AppendElem(c.Data, from, -float64(int64(1)<<k+d-1))
				}
			}
		}
		c.Type = ir.TensorOf(from, int64(len(c.Data)*8/from.Bits()))
		for _, by := range types {
			for _, to := range types {
				if !passes.Skips(from, by, to) {
					continue
				}
				merged++
				direct, two := castOf(t, c, to), castOf(t, castOf(t, c, by), to)
				for i := range c.Elems() {
					size := int64(to.Bits() / 8)
					a, b := direct.Data[i*size:(i+1)*size], two.Data[i*size:(i+1)*size]
					if direct.Float(i) == direct.Float(i) && !bytes.Equal(a, b) {
						t.Errorf("%s %g to %s is %g, by way of %s %g", from, c.Float(i), to, direct.Float(i), by,
							two.Float(i))
						break
					}
				}
			}
		}
	}
	if passes.Skips(ir.Bool, ir.FP16, ir.FP32) {
		t.Error("a cast of booleans to fp32 by way of fp16 merges; the engine computes fp16 from booleans, not fp32")
	}
	if !passes.Skips(ir.FP16, ir.FP32, ir.FP16) || passes.Skips(ir.FP32, ir.FP16, ir.FP32) || merged < 100 {
		t.Errorf("%d pairs of casts merge; fp16 to fp32 to fp16 must, fp32 to fp16 to fp32 must not", merged)
	}
}
