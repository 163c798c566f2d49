package ir

import (
	"encoding/binary"
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Widen returns a copy of f that computes in fp32 what f computes in fp16, and for each value of f the value of the
// copy that represents it. Constants of fp16 have the same numbers in fp32, and arguments that name the type name fp32.
// The copy need not be valid: an operation may take fp16 alone.
func Widen(f *Func) (wide *Func, of map[*Value]*Value) {
	c := &Cloner{Values: map[*Value]*Value{}}
	widened := map[*Const]*Const{} // several values may share one
	constant := func(v *Value, namesType bool) {
		k := v.Const
		switch {
		case k == nil || c.Values[v] != nil:
			return
		case k.Type.DType == FP16:
			if widened[k] == nil {
				widened[k] = k.inFP32()
			}
			k = widened[k]
		case namesType && len(k.Strings) == 1 && k.Strings[0] == FP16.String():
			k = ConstString(FP32.String())
		default:
			return
		}
		n := *v
		n.Type, n.Const = k.Type, k
		c.Values[v] = &n
	}
	results := func(vs []*Value) {
		for _, v := range vs {
			constant(v, false)
		}
	}
	Walk(f, func(op *Op) {
		for i, a := range op.Args {
			name := op.Def.Params[i].Name
			for _, v := range a {
				constant(v, name == ParamDType || name == ParamOutputDType)
			}
		}
		for _, b := range op.Blocks {
			results(b.Outputs)
		}
	})
	results(f.Body.Outputs)
	n := *f
	n.Body = c.block(f.Body)
	for _, v := range c.Values {
		if v.Type.DType == FP16 {
			v.Type = v.Type.WithDType(FP32)
		}
	}
	return &n, c.Values
}

// widenedAtOnce is the number of elements that inFP32 converts together.
const widenedAtOnce = 1 << 12

// inFP32 returns a constant of fp16 as one of fp32.
func (c *Const) inFP32() *Const {
	w := &Const{Type: c.Type.WithDType(FP32)}
	w.Data = make([]byte, 0, 2*len(c.Data))
	var block [widenedAtOnce]float32
	for src := c.Data; len(src) > 1; {
		n := numerics.WidenBytes(block[:], src)
		for _, x := range block[:n] {
			w.Data = binary.LittleEndian.AppendUint32(w.Data, math.Float32bits(x))
		}
		src = src[2*n:]
	}
	return w
}
