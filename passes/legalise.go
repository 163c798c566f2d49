package passes

import (
	"github.com/zinc-compiler/zinc/ir"
)

// legalise rewrites operations that break a limit of the target into ones that keep it.
func legalise(s *State) error {
	return s.rewrite(func(r *rewriter, op *ir.Op) error {
		if op.Is(ir.OpConv) {
			v, err := s.foldStride(r, op)
			if err != nil {
				return err
			}
			if v != nil {
				last := v.Def
				takeResult(last, op.Results[0])
				return nil
			}
		}
		r.keep(op)
		return nil
	})
}

// foldStride turns a one-dimensional convolution whose stride or kernel is too large for the registers into one of
// stride one: every block of stride columns becomes channels. x[c, q*stride + p] moves to channel c*stride + p of
// column q, and the weight's taps move with it.
func (s *State) foldStride(r *rewriter, op *ir.Op) (*ir.Value, error) {
	a, err := ir.ConvAttrs(op)
	x, w := op.Arg(ir.ParamX), op.Arg(ir.ParamWeight)
	if err != nil || len(a.Strides) != 1 || a.Groups != 1 || a.Dilations[0] != 1 || !w.IsConst() || !known(x) {
		return nil, nil
	}
	stride, kernel := a.Strides[0], w.Type.Shape[2]
	if stride <= int64(s.Target.MaxStride) && kernel <= int64(s.Target.MaxKernelW) || stride == 1 {
		return nil, nil
	}
	n, c, width := x.Type.Shape[0], x.Type.Shape[1], x.Type.Shape[2]
	out, outW := w.Type.Shape[0], op.Results[0].Type.Shape[2]
	blocks := (kernel + stride - 1) / stride
	if a.PadBefore[0] != 0 || width%stride != 0 || blocks > int64(s.Target.MaxKernelW) || width/stride-blocks+
		1 != outW || c*stride > int64(s.Target.MaxChannels) {
		return nil, nil
	}
	i32 := func(v ...int64) *ir.Value { return s.constant(ir.ConstInts(ir.Int32, v...), op.Pos) }
	v, err := s.reshape(r, op, x, []int64{n, c, width / stride, stride})
	if err != nil {
		return nil, err
	}
	t, err := s.makeOp(op, ir.OpTranspose, arg{ir.ParamX, v}, arg{ir.ParamPerm, i32(0, 1, 3, 2)})
	if err != nil {
		return nil, err
	}
	r.keep(t)
	if v, err = s.reshape(r, op, t.Results[0], []int64{n, c * stride, width / stride}); err != nil {
		return nil, err
	}
	// Rearrange the weight [out, c, kernel], with zeros up to whole blocks, to [out, c*stride, blocks].
	size := w.Type.DType.Bits() / 8
	data := make([]byte, out*c*stride*blocks*int64(size))
	for o := range out {
		for ch := range c {
			for k := range kernel {
				at := (o*c*stride+ch*stride+k%stride)*blocks + k/stride
				copy(data[at*int64(size):][:size], w.Const.Data[((o*c+ch)*kernel+k)*int64(size):])
			}
		}
	}
	wt := s.constant(&ir.Const{
		Type: ir.TensorOf(w.Type.DType, out, c*stride, blocks),
		Data: data,
		Blob: w.Const.Blob,
	}, w.Pos)
	s.derive(w, wt)
	s.cameFrom(wt, w)
	conv, err := s.makeOp(op, ir.OpConv, arg{ir.ParamX, v}, arg{ir.ParamWeight, wt},
		arg{ir.ParamBias, op.Arg(ir.ParamBias)},
		arg{ir.ParamStrides, i32(1)}, arg{ir.ParamDilations, i32(1)}, arg{ir.ParamPad, i32(0, 0)},
		arg{ir.ParamPadType, s.constant(ir.ConstString("valid"), op.Pos)},
		arg{ir.ParamGroups, s.constant(ir.ConstInt(ir.Int32, 1),
			op.Pos)})
	if err != nil {
		return nil, err
	}
	r.keep(conv)
	return conv.Results[0], nil
}
