package passes

import (
	"errors"
	"fmt"
	"maps"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// convertPrecision makes the fp32 operations that the engine accepts in fp16 compute in fp16, if the options request
// it.
func convertPrecision(s *State) error {
	switch s.Precision {
	case "", PrecisionDeclared:
		return nil
	case PrecisionFP16:
	default:
		return fmt.Errorf("precision %q: declared or fp16", s.Precision)
	}
	fp16 := map[*ir.Value]*ir.Value{} // fp32 value -> its fp16 form
	return s.rewrite(func(r *rewriter, op *ir.Op) error {
		if x := op.Arg(ir.ParamX); op.Is(ir.OpCast) && x.Type.Equal(op.Results[0].Type) {
			same, err := s.makeOp(op, ir.OpIdentity, arg(ir.ParamX, x))
			if err != nil {
				return err
			}
			takeResult(same, op.Results[0])
			op = same
		}
		parts, err := s.unrounded(op)
		for _, op := range parts {
			err = errors.Join(err, s.convertOp(r, op, fp16))
		}
		return err
	})
}

// unrounded returns a batch norm of fp32 as its factor and addend, which fp16 then rounds, if fp16 holds them. A
// variance can be too small for fp16, and the factor, which divides by its root, is not. Other operations are returned
// alone.
func (s *State) unrounded(op *ir.Op) ([]*ir.Op, error) {
	if !op.Is(ir.OpBatchNorm) || op.Results[0].Type.DType != ir.FP32 {
		return []*ir.Op{op}, nil
	}
	r := &rewriter{s: s}
	v, err := splitBatchNorm(s, r, op)
	if v == nil || err != nil {
		return []*ir.Op{op}, err
	}
	for _, part := range r.out {
		h := rounded(part.Arg(ir.ParamY).Const)
		for i := range h.Elems() {
			if f := h.Float(i); f-f != 0 {
				return []*ir.Op{op}, nil
			}
		}
	}
	takeResult(v.Def, op.Results[0])
	return r.out, nil
}

// convertOp keeps an operation, in fp16 between casts if the engine accepts that.
func (s *State) convertOp(r *rewriter, op *ir.Op, fp16 map[*ir.Value]*ir.Value) error {
	n, ok := s.inFP16(r, op, fp16)
	if !ok {
		r.keep(op)
		return nil
	}
	r.keep(n)
	for i, old := range op.Results {
		if keepsType(old) {
			n.Results[i] = old
			old.Def = n
			continue
		}
		back, err := s.makeOp(op, ir.OpCast, arg(ir.ParamX, n.Results[i]),
			arg(ir.ParamDType, s.constant(ir.ConstString("fp32"), op.Pos)))
		if err != nil {
			return err
		}
		takeResult(back, old)
		r.keep(back)
		fp16[old] = n.Results[i]
	}
	return nil
}

// keepsType reports whether a result of an operation on fp32 keeps its type in fp16 precision: the truth of a
// comparison, a place, a quantized number.
func keepsType(v *ir.Value) bool {
	switch v.Type.DType {
	case ir.Bool, ir.Int32, ir.Int16, ir.UInt16, ir.Int8, ir.UInt8:
		return true
	}
	return false
}

// inFP16 returns op in fp16 if its tensors are fp32 and the engine accepts the fp16 form; the casts it needs have been
// kept by then. A comparison of fp32 tensors becomes one of fp16 tensors, whose result stays boolean, and likewise a
// cast of them to booleans; a cast of booleans to fp32 becomes one to fp16.
func (s *State) inFP16(r *rewriter, op *ir.Op, fp16 map[*ir.Value]*ir.Value) (*ir.Op, bool) {
	if op.Is(ir.OpCast) && op.Arg(ir.ParamX).Type.DType == ir.Bool && op.Results[0].Type.DType == ir.FP32 {
		return s.truthInFP16(op)
	}
	if len(op.Blocks) > 0 || op.Is(ir.OpCast) && op.Results[0].Type.DType != ir.Bool {
		return nil, false
	}
	for _, v := range op.Results {
		if v.Type.Kind != ir.Tensor || v.Type.DType != ir.FP32 && !keepsType(v) {
			return nil, false
		}
	}
	single := false
	op.Operands(func(_ *ir.Param, v *ir.Value) { single = single || v.Type.DType == ir.FP32 })
	if !single {
		return nil, false
	}
	n := &ir.Op{
		Def:    op.Def,
		Name:   op.Name,
		Pos:    op.Pos,
		Args:   make([][]*ir.Value, len(op.Args)),
		Origin: s.made(op.Origin),
	}
	var casts []*ir.Op
	made := map[*ir.Value]*ir.Value{}
	for i, a := range op.Args {
		for _, v := range a {
			h := v
			if v.Type.Kind == ir.Tensor && v.Type.DType == ir.FP32 {
				var err error
				if h, err = s.valueInFP16(op, v, fp16, made, &casts); err != nil {
					return nil, false
				}
			}
			n.Args[i] = append(n.Args[i], h)
		}
	}
	ts, err := ir.InferOp(n)
	if err != nil {
		return nil, false
	}
	for i, t := range ts {
		if t.DType != ir.FP16 && !keepsType(op.Results[i]) {
			return nil, false
		}
		n.Results = append(n.Results, &ir.Value{Name: s.name("fp16"), Type: t, Def: n, Pos: op.Results[i].Pos})
	}
	if _, err := s.accept(n); err != nil {
		s.noteFP16(op, err)
		return nil, false
	}
	maps.Copy(fp16, made)
	for _, c := range casts {
		r.keep(c)
	}
	return n, true
}

// truthInFP16 returns a cast of truth values to fp32 as one to fp16, which holds 0 and 1, if the engine accepts that.
func (s *State) truthInFP16(op *ir.Op) (*ir.Op, bool) {
	n, err := s.makeOp(op, ir.OpCast, arg(ir.ParamX, op.Arg(ir.ParamX)),
		arg(ir.ParamDType, s.constant(ir.ConstString("fp16"), op.Pos)))
	if err != nil {
		return nil, false
	}
	if _, err := s.accept(n); err != nil {
		s.noteFP16(op, err)
		return nil, false
	}
	return n, true
}

// noteFP16 records why the engine does not accept an operation in fp16, which is why it stays in fp32.
func (s *State) noteFP16(op *ir.Op, err error) {
	var no *target.Refusal
	if !errors.As(err, &no) {
		return
	}
	if s.notFP16 == nil {
		s.notFP16 = map[*ir.Op]*target.Refusal{}
	}
	s.notFP16[op] = no
}

// asHalf returns the refusal of an operation; if it was refused in fp16 as well, the refusal in fp16.
func (s *State) asHalf(op *ir.Op, err error) error {
	var no *target.Refusal
	if fp16 := s.notFP16[op]; fp16 != nil && errors.As(err, &no) && no.Rule == target.RuleFloatType {
		return fp16
	}
	return err
}

// rounded returns a constant with the numbers of another, rounded to fp16.
func rounded(c *ir.Const) *ir.Const {
	data := make([]byte, 0, 2*c.Elems())
	for i := range c.Elems() {
		data = ir.AppendElem(data, ir.FP16, c.Float(i))
	}
	h := &ir.Const{Type: c.Type.WithDType(ir.FP16), Data: data}
	return h.PackedBy(c, rounded)
}

func (s *State) valueInFP16(op *ir.Op, v *ir.Value, fp16, made map[*ir.Value]*ir.Value, casts *[]*ir.Op) (
	*ir.Value, error) {
	if h := fp16[v]; h != nil {
		return h, nil
	}
	if h := made[v]; h != nil {
		return h, nil
	}
	if v.IsConst() {
		h := rounded(v.Const)
		h.Blob = v.Const.Blob
		made[v] = s.constant(h, v.Pos)
		s.derive(v, made[v])
		s.cameFrom(made[v], v)
		return made[v], nil
	}
	c, err := s.makeOp(op, ir.OpCast, arg(ir.ParamX, v), arg(ir.ParamDType, s.constant(ir.ConstString("fp16"), op.Pos)))
	if err != nil {
		return nil, err
	}
	*casts = append(*casts, c)
	made[v] = c.Results[0]
	return c.Results[0], nil
}
