package reported

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

var blockwiseOps = ops{ir.OpConstexprBlockwiseShiftScale, ir.OpConstexprSparseBlockwiseShiftScale}

// scales are the shapes of a quantised weight and of its scales.
type scales struct {
	weight, shape []int64
	out           int // the dimension of the outputs
	data          ir.Type
}

// scalesOf returns the scales of a compressed weight, nil if its shape is not known.
func (s *search) scalesOf(op *ir.Op) *scales {
	w, sc := op.Results[0], op.Arg(ir.ParamScale)
	if !w.Type.Static() || sc == nil || sc.Type.Rank() != w.Type.Rank() || !s.multiplies(w) {
		return nil
	}
	data := op.Arg(ir.ParamData)
	if data == nil {
		data = op.Arg(ir.ParamNonzeroData)
	}
	return &scales{weight: w.Type.Shape, shape: sc.Type.Shape, out: s.outputDim(w), data: data.Type}
}

// multiplies reports whether a product reads a weight, as it is or decompressed further.
func (s *search) multiplies(w *ir.Value) bool {
	for _, r := range s.readers(w) {
		if r.Def.Class == ir.Product || (r.Def.Class == ir.Compressed || passes(r)) && s.multiplies(r.Results[0]) {
			return true
		}
	}
	return false
}

// outputDim returns the dimension of a weight that has the outputs of the operation that reads it.
func (s *search) outputDim(w *ir.Value) int {
	for _, r := range s.readers(w) {
		switch {
		case r.Is(ir.OpConvTranspose) && r.Arg(ir.ParamWeight) == w:
			return 1
		case r.Is(ir.OpMatMul) && r.Arg(ir.ParamY) == w:
			if m, err := ir.MatMulAttrs(r); err == nil && !m.TransposeY {
				return w.Type.Rank() - 1
			}
			return max(w.Type.Rank()-2, 0)
		case r.Is(ir.OpMatMul):
			if m, err := ir.MatMulAttrs(r); err == nil && m.TransposeX {
				return w.Type.Rank() - 1
			}
			return max(w.Type.Rank()-2, 0)
		}
	}
	return 0
}

// blocks reports whether the inputs of an output have several scales, each for several of them.
func (x *scales) blocks() bool {
	for i, d := range x.shape {
		if i != x.out && d > 1 && d < x.weight[i] {
			return true
		}
	}
	return false
}

func (x *scales) String() string {
	return fmt.Sprintf("%s, scales %s", x.data, ir.ShapeString(x.shape))
}

// integers reports whether the weight is stored as integers of those bits.
func (x *scales) integers(bits int) bool { return x.data.DType.IsInt() && x.data.DType.Bits() == bits }

func blocksInt4(s *search, op *ir.Op) string {
	if x := s.scalesOf(op); x != nil && x.integers(4) && x.blocks() {
		return x.String()
	}
	return ""
}

func blocksInt8(s *search, op *ir.Op) string {
	if x := s.scalesOf(op); x != nil && x.integers(8) && x.blocks() {
		return x.String()
	}
	return ""
}

// scalesOfInputs finds scales by input and blocks of outputs; blocks of inputs are other rules'.
func scalesOfInputs(s *search, op *ir.Op) string {
	if op.Is(ir.OpConstexprAffineDequantize) {
		w, sc := op.Results[0], op.Arg(ir.ParamScale)
		a, err := ir.AxisAttr(op, ir.ParamAxis, w.Type.Rank())
		if err != nil || sc == nil || sc.Type.Elems() <= 1 || a == s.outputDim(w) || !s.multiplies(w) {
			return ""
		}
		return fmt.Sprintf("a scale for each element of dimension %d", a)
	}
	x := s.scalesOf(op)
	if x == nil || !x.data.DType.IsInt() || x.blocks() {
		return ""
	}
	for i, d := range x.shape {
		if d > 1 && (i != x.out || d < x.weight[i]) {
			return x.String()
		}
	}
	return ""
}

// palette returns the scales of a weight whose data is looked up in tables, nil for others.
func (s *search) palette(op *ir.Op) *scales {
	data := op.Arg(ir.ParamData)
	if data == nil || data.Def == nil || !data.Def.Is(ir.OpConstexprLUTToDense) {
		return nil
	}
	return s.scalesOf(op)
}

// several reports whether an output has several scales.
func (x *scales) several() bool {
	for i, d := range x.shape {
		if i != x.out && d > 1 {
			return true
		}
	}
	return false
}

// paletteChannelScale finds scales of what is looked up, or of the tables themselves.
func paletteChannelScale(s *search, op *ir.Op) string {
	if x := s.palette(op); x != nil && !x.several() {
		return x.String()
	}
	for _, r := range s.readers(op.Results[0]) {
		if data := op.Arg(ir.ParamData); data != nil && data.Type.DType.IsFloat() && r.Is(ir.OpConstexprLUTToDense) &&
			r.Arg(ir.ParamLUT) == op.Results[0] && s.multiplies(r.Results[0]) {
			return "tables " + data.Type.String() + ", scales " + ir.ShapeString(op.Arg(ir.ParamScale).Type.Shape)
		}
	}
	return ""
}

func paletteGroupScale(s *search, op *ir.Op) string {
	if x := s.palette(op); x != nil && x.several() {
		return x.String()
	}
	return ""
}
