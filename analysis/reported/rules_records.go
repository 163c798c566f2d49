package reported

import "github.com/zinc-compiler/zinc/ir"

// The forms that Apple's compiler 9.509 refused for h13 where it recorded task words (docs/deviations.md).

func anyLog(_ *search, op *ir.Op) string { return "x is " + op.Arg(ir.ParamX).Type.String() }

func anyClip(_ *search, op *ir.Op) string { return "x is " + op.Arg(ir.ParamX).Type.String() }

func affineLayerNorm(_ *search, op *ir.Op) string {
	g, b := op.Arg(ir.ParamGamma), op.Arg(ir.ParamBeta)
	switch {
	case g != nil && b != nil:
		return "gamma and beta"
	case g != nil:
		return "gamma"
	case b != nil:
		return "beta"
	}
	return ""
}

// literal reports whether a value is a tensor of several numbers that the text has.
func literal(v *ir.Value) bool {
	return v != nil && v.Const != nil && v.Const.Blob == "" && v.Type.DType.IsFloat() && v.Type.Elems() > 1
}

func literalBias(_ *search, op *ir.Op) string {
	if b := op.Arg(ir.ParamBias); literal(b) {
		return "bias " + b.Type.String()
	}
	return ""
}

var literalOps = ops{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpRealDiv, ir.OpMaximum, ir.OpMinimum, ir.OpPow}

func literalOperand(_ *search, op *ir.Op) string {
	for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY} {
		if v := op.Arg(name); literal(v) {
			return v.Type.String()
		}
	}
	return ""
}

func storedDivisor(_ *search, op *ir.Op) string {
	y := op.Arg(ir.ParamY)
	if y.Const == nil || y.Const.Blob == "" || y.Type.Elems() <= 1 || !y.Type.DType.IsFloat() {
		return ""
	}
	return "y is " + y.Type.String()
}

func constantOrder(_ *search, op *ir.Op) string {
	y := op.Arg(ir.ParamY)
	m, err := ir.MatMulAttrs(op)
	if err != nil || m.TransposeY || y.Const == nil {
		return ""
	}
	return "y is " + y.Type.String()
}
