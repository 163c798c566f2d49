package coreml

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// validator says what a backend can run.
type validator struct {
	limits  map[string]int64
	refused [NumBackends]map[string]string // reasons by operation
	dead    map[*ir.Value]bool             // results that nothing reads, and that are not an operation's only one
}

// bury notes the results of a block's operations that nothing reads, such as the indices of a topk.
func (v *validator) bury(b *ir.Block) {
	read := map[*ir.Value]bool{}
	for _, x := range b.Outputs {
		read[x] = true
	}
	for _, op := range b.Ops {
		op.Reads(func(x *ir.Value) { read[x] = true })
	}
	for _, op := range b.Ops {
		for _, r := range op.Results {
			if len(op.Results) > 1 && !read[r] {
				v.dead[r] = true
			}
		}
	}
}

func newValidator(r *Rules) *validator {
	v := &validator{limits: map[string]int64{}, dead: map[*ir.Value]bool{}}
	for b := range v.refused {
		v.refused[b] = map[string]string{}
	}
	for _, l := range r.Limits {
		v.limits[l.Name] = l.Value
	}
	for _, x := range r.Refuse {
		v.refused[x.Backend][x.Operation] = x.Reason
	}
	return v
}

// refuses returns why a backend cannot run an operation, in the framework's words, or "". constant reports values that
// the framework knows before it places operations.
func (v *validator) refuses(b Backend, op *ir.Op, constant func(*ir.Value) bool) string {
	if b.Device() == CPU {
		return ""
	}
	if why := v.refused[b][op.Def.Name]; why != "" {
		return why
	}
	if b == GPU {
		return ""
	}
	for _, check := range []func(*ir.Op, func(*ir.Value) bool) string{v.indices, v.types, v.dimensions, v.kernel,
		v.depth, v.weights} {
		if why := check(op, constant); why != "" {
			return why
		}
	}
	return ""
}

// indices refuses a gather whose indices are computed (the other two forms of gather accept them), and boxes by numbers
// of another type than the engine's.
func (v *validator) indices(op *ir.Op, constant func(*ir.Value) bool) string {
	if op.Is(ir.OpGather) && !constant(op.Arg(ir.ParamIndices)) {
		return "Unsupported gather index type"
	}
	if x := op.Arg(ir.ParamBoxIndices); op.Is(ir.OpCropResize) && x != nil && x.Type.DType != ir.UInt16 {
		return fmt.Sprintf("type %s for \"box_indices\" is not supported. only support UInt16.", x.Type.DType)
	}
	return ""
}

// engineTypes are the element types of the engine's tensors, besides fp32, which some accept in casts.
var engineTypes = ir.DTypesOf(ir.FP16, ir.Bool, ir.Int8, ir.UInt8, ir.Int16, ir.UInt16)

// types refuses operands and results of types that the engine has not. Constants do not count: the framework converts
// them.
func (v *validator) types(op *ir.Op, constant func(*ir.Value) bool) string {
	why := ""
	check := func(side string, x *ir.Value) {
		switch t := x.Type.DType; {
		case why != "" || engineTypes.Has(t) || t == ir.Invalid || v.dead[x]:
		case t == ir.FP32 && op.Is(ir.OpCast) && v.limits[limitCasts] != 0:
		case t == ir.FP32:
			why = fmt.Sprintf("Invalid %s tensor format: fp32", side)
		case side == "output" && op.Is(ir.OpReduceArgmax, ir.OpReduceArgmin):
			why = fmt.Sprintf("Output type %s is not supported.", t)
		default:
			why = "Unsupported tensor data type: " + t.String()
		}
	}
	op.Operands(func(_ *ir.Param, x *ir.Value) {
		if !constant(x) && !narrowed(op, x) {
			check("input", x)
		}
	})
	for _, x := range op.Results {
		check("output", x)
	}
	return why
}

// narrowed reports whether x is an index in int32, which the framework converts to 16 bits before the operation.
func narrowed(op *ir.Op, x *ir.Value) bool {
	return isGather(op) && x == op.Arg(ir.ParamIndices) && x.Type.DType == ir.Int32
}

// dimensions refuses tensors with a dimension that is unknown or too long.
func (v *validator) dimensions(op *ir.Op, constant func(*ir.Value) bool) string {
	why := ""
	check := func(x *ir.Value) {
		if why == "" {
			why = v.outside(x)
		}
	}
	op.Operands(func(_ *ir.Param, x *ir.Value) {
		if !constant(x) {
			check(x)
		}
	})
	for _, x := range op.Results {
		check(x)
	}
	return why
}

// axes are the names of dimensions, which are the names of their limits too.
var axes = [...]string{limitN, limitD, limitC, limitH, limitW}

// outside returns the framework's message about a tensor with a long dimension, "" for others. The last dimension is W;
// a shape of four or five begins with N.
func (v *validator) outside(x *ir.Value) string {
	shape := x.Type.Shape
	full := [len(axes)]int64{1, 1, 1, 1, 1}
	n := min(len(shape), len(full))
	copy(full[len(full)-n:], shape[len(shape)-n:])
	if n == 4 {
		full[0], full[1] = full[1], 1
	}
	long := false
	for i, a := range axes {
		if full[i] < 0 {
			return fmt.Sprintf("Tensor %s has a dimension that is not known: %s", x.Name, ir.ShapeString(shape))
		}
		long = long || v.above(a, full[i], true)
	}
	if !long {
		return ""
	}
	var dims, ranges strings.Builder
	for i, a := range axes {
		fmt.Fprintf(&dims, "%s%d", a, full[i])
		fmt.Fprintf(&ranges, "%s[1-%d]", a, v.limits[a])
	}
	return fmt.Sprintf("Tensor dimensions %s are not within supported range, %s.", &dims, &ranges)
}

// kernel refuses large windows.
func (v *validator) kernel(op *ir.Op, _ func(*ir.Value) bool) string {
	switch op.Def.Operation {
	case ir.OpConv:
		c, err := ir.ConvAttrs(op)
		if err != nil || c.Spatial == 0 {
			return ""
		}
		h, w := int64(1), c.Kernel[c.Spatial-1]
		if c.Spatial > 1 {
			h = c.Kernel[c.Spatial-2]
		}
		if v.above(limitKernelWidth, w, h == 1) || v.above(limitKernelHeight, h, w == 1) ||
			v.above(limitKernelSquare, max(h, w), h > 1 && w > 1) {
			return "Error: conv with large kernel does not meet decomposition preconditions"
		}
	case ir.OpMaxPool:
		p, err := ir.PoolAttrs(op)
		if err != nil || p.Spatial == 0 {
			return ""
		}
		const wide = 32 // the one larger width, by the framework's message
		if w := p.Kernel[p.Spatial-1]; v.above(limitPoolWidth, w, w != wide) {
			return fmt.Sprintf("Invalid Pool kernel width (%d), must be [1-%d] or %d.", w, v.limits[limitPoolWidth],
				wide)
		}
	}
	return ""
}

// above reports whether a value exceeds a limit that applies and is known.
func (v *validator) above(limit string, n int64, applies bool) bool {
	most, ok := v.limits[limit]
	return applies && ok && n > most
}

// depth refuses matrix products whose sums are too long.
func (v *validator) depth(op *ir.Op, _ func(*ir.Value) bool) string {
	if !op.Is(ir.OpMatMul) {
		return ""
	}
	m, err := ir.MatMulAttrs(op)
	if err != nil {
		return ""
	}
	row := op.Arg(ir.ParamX).Type.DType.Bytes(max(0, m.K))
	if v.above(limitRowBytes, row, true) {
		return fmt.Sprintf("Error: the output channel of input A (%d kB) can not fit the Kmem (%d kB)", row,
			v.limits[limitRowBytes])
	}
	return ""
}

// weights refuses products of weights that are stored in blocks, or in four bits with a scale.
func (v *validator) weights(op *ir.Op, _ func(*ir.Value) bool) string {
	if op.Def.Class != ir.Product {
		return ""
	}
	why := ""
	op.Operands(func(_ *ir.Param, x *ir.Value) {
		if x.Def == nil || !x.Def.Is(ir.OpConstexprBlockwiseShiftScale) || why != "" {
			return
		}
		data, scale := x.Def.Arg(ir.ParamData).Type, x.Def.Arg(ir.ParamScale).Type
		axes := 0
		for _, d := range scale.Shape {
			if d != 1 {
				axes++
			}
		}
		if axes > 1 || data.DType.Bits() < 8 {
			why = fmt.Sprintf("Unsupported weight: %s in blocks with scales of %s", data.DType,
				ir.ShapeString(scale.Shape))
		}
	})
	return why
}
