package verify

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// attended encloses softmax(query keyT / sqrt(E) + mask) value by the operations that passes replace it with, from the
// same operands. Passes round only 1/sqrt(E), and a mask in fp32, for which attended has no bound.
func attended(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	q, k, v, mask := s.operand(ir.ParamQuery), s.operand(ir.ParamKey), s.operand(ir.ParamValue),
		s.operand(ir.ParamAttnMask)
	if mask != nil && mask.t.Type.DType == ir.FP32 {
		return modelled(ts, s.unknown), nil
	}
	p := parts{statement: s}
	scores := p.do(ir.OpMatMul, s.memory.in32(q.t), s.memory.in32(k.t), ir.ParamX, ir.ParamY,
		flag(ir.ParamTransposeY, true))
	if p.err != nil {
		return nil, p.err
	}
	factor := 1 / math.Sqrt(float64(q.t.Type.Shape[q.t.Type.Rank()-1]))
	scaled := s.memory.mapped(scores, func(_ int, x float32) float32 { return float32(factor * float64(x)) })
	masked := scaled
	switch {
	case mask == nil:
	case mask.t.Type.DType == ir.Bool:
		masked = p.do(ir.OpSelect, mask.t, scaled, ir.ParamCond, ir.ParamA, argument{ir.ParamB, &ir.Value{
			Type: ir.Scalar(ir.FP32), Const: ir.ConstFloat(ir.FP32, math.Inf(-1)),
		}})
	default:
		masked = p.do(ir.OpAdd, scaled, s.memory.in32(mask.t), ir.ParamX, ir.ParamY)
	}
	if p.err != nil {
		return nil, p.err
	}
	size := scaled.Floats32()
	x := &ir.Value{Name: "scores", Type: masked.Type}
	op := p.op(ir.OpSoftmax, argument{ir.ParamX, x}, argument{ir.ParamAxis, &ir.Value{
		Type: ir.Scalar(ir.Int32), Const: ir.ConstInt(ir.Int32, -1),
	}})
	if p.err != nil {
		return nil, p.err
	}
	near := around(masked, func(i int, _ float64) float64 { return (s.constants + fuzz) * abs(size[i]) })
	shares, err := s.wide(op, map[*ir.Value]interp.Tensor{x: masked})
	if err != nil {
		return nil, err
	}
	out, err := softmax(&statement{encloser: s.encloser, op: op, args: map[*ir.Value]*enclosure{x: near}}, shares)
	if err != nil || out[0].unknown {
		return enclosuresOf(ts, true), err
	}
	r := out[0].radius()
	sizes := s.memory.mapped(v.t, func(_ int, x float32) float32 { return float32(abs(x)) })
	y := p.do(ir.OpMatMul, like(shares[0], r), sizes, ir.ParamX, ir.ParamY)
	if p.err != nil {
		return nil, p.err
	}
	return []*enclosure{s.memory.errs(ts[0], y.View32())}, nil
}

// argument is an argument of an operation.
type argument struct {
	name ir.ParamName
	v    *ir.Value
}

func flag(name ir.ParamName, b bool) argument {
	return argument{name, &ir.Value{Type: ir.Scalar(ir.Bool), Const: ir.ConstBool(b)}}
}

// parts runs operations that a rule takes a statement apart into.
type parts struct {
	*statement
	err error
}

// op returns an operation where the statement is.
func (p *parts) op(o *ir.Operation, args ...argument) *ir.Op {
	if p.err != nil {
		return nil
	}
	var names []ir.ParamName
	for _, a := range args {
		names = append(names, a.name)
	}
	op := ir.NewOp(ir.LookupArgs(o.Name, p.opset, names))
	op.Place = p.statement.op.Place
	for _, a := range args {
		op.SetArg(a.name, a.v)
	}
	var types []ir.Type
	if types, p.err = ir.InferOp(op); p.err != nil {
		return nil
	}
	for _, t := range types {
		op.Results = append(op.Results, &ir.Value{Name: "part", Type: t, Def: op})
	}
	return op
}

// do runs an operation on two tensors, the arguments of these names.
func (p *parts) do(o *ir.Operation, a, b interp.Tensor, one, two ir.ParamName, more ...argument) interp.Tensor {
	x, y := &ir.Value{Name: "a", Type: a.Type}, &ir.Value{Name: "b", Type: b.Type}
	op := p.op(o, append([]argument{{one, x}, {two, y}}, more...)...)
	if p.err != nil {
		return interp.Tensor{}
	}
	ts, err := p.wide(op, map[*ir.Value]interp.Tensor{x: a, y: b})
	if p.err = err; err != nil {
		return interp.Tensor{}
	}
	return ts[0]
}
