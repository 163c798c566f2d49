package coreml

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// features are the measures of one operation. Unknown ones are NaN, for which no condition holds.
type features struct {
	op    *ir.Op
	bytes float64
	flops float64
	bias  float64
}

// measure counts what the framework counts of an operation.
func measure(op *ir.Op) features {
	f := features{op: op, bytes: countBytes(op), flops: math.NaN(), bias: math.NaN()}
	out := elements(result(op))
	switch op.Def.Operation {
	case ir.OpConv:
		c, err := ir.ConvAttrs(op)
		w := op.Arg(ir.ParamWeight).Type
		if err != nil || w.Rank() < 3 {
			break
		}
		f.flops = 2 * out * elements(w) / float64(w.Shape[0])
		for _, d := range c.Dilations {
			f.flops /= float64(d)
		}
		f.bias = f.flops
		if op.Arg(ir.ParamBias) != nil {
			f.bias += out
		}
	case ir.OpConvTranspose: // the weight is [inputs, outputs / groups, kernel]
		c, err := ir.ConvAttrs(op)
		w := op.Arg(ir.ParamWeight).Type
		if err != nil || w.Rank() < 3 {
			break
		}
		f.flops = 2 * out * float64(w.Shape[0]) * product(c.Kernel) / float64(c.Groups)
		f.bias = f.flops
	case ir.OpLinear:
		w := op.Arg(ir.ParamWeight).Type
		if w.Rank() != 2 {
			break
		}
		f.flops = 2 * out * dim(w, 1)
		f.bias = f.flops
		if op.Arg(ir.ParamBias) != nil {
			f.bias += dim(w, 0)
		}
	case ir.OpMatMul:
		m, err := ir.MatMulAttrs(op)
		if err != nil || m.K < 0 {
			break
		}
		f.flops = 2 * out * float64(m.K)
		f.bias = f.flops
	}
	return f
}

// of returns a measure of the operation, NaN if it has none.
func (f *features) of(m Measure) float64 {
	op := f.op
	switch m {
	case Bytes:
		return f.bytes
	case Flops:
		return f.flops
	case Bias:
		return f.bias
	case Window:
		return f.window()
	case Elements:
		return operandElements(op)
	case Inputs:
		return elements(first(op))
	case Outputs:
		return elements(result(op))
	case Intensity:
		return f.bias / f.moved()
	case Rows, Depth, Columns, Ragged:
		return extent(op, m)
	case Batch:
		return batchMoved(op)
	}
	return math.NaN()
}

// moved returns the bytes of input, weight, bias and output of a product, over which its intensity is counted.
func (f *features) moved() float64 {
	total := size(result(f.op))
	for _, p := range []ir.ParamName{ir.ParamX, ir.ParamY, ir.ParamWeight, ir.ParamBias} {
		if v := f.op.Arg(p); v != nil {
			total += size(v.Type)
		}
	}
	return total
}

// window returns the elements of all windows of a pooling operation.
func (f *features) window() float64 {
	if f.op.Def.Class != ir.Pooling {
		return math.NaN()
	}
	p, err := ir.PoolAttrs(f.op)
	if err != nil {
		return math.NaN()
	}
	return elements(result(f.op)) * product(p.Kernel)
}

// extent returns an extent of a matrix product.
func extent(op *ir.Op, m Measure) float64 {
	var rows, depth, columns float64
	switch op.Def.Operation {
	case ir.OpLinear:
		w := op.Arg(ir.ParamWeight).Type
		if w.Rank() != 2 {
			return math.NaN()
		}
		columns, depth = dim(w, 0), dim(w, 1)
		rows = elements(first(op)) / depth
	case ir.OpMatMul:
		a, err := ir.MatMulAttrs(op)
		if err != nil || a.M < 0 || a.N < 0 || a.K < 0 {
			return math.NaN()
		}
		rows, depth, columns = float64(a.M), float64(a.K), float64(a.N)
	default:
		return math.NaN()
	}
	switch m {
	case Rows:
		return rows
	case Depth:
		return depth
	case Ragged:
		return math.Mod(columns, 16)
	}
	return columns
}

// batchMoved returns 1 for a transpose whose first dimension goes elsewhere and is not 1 on either side.
func batchMoved(op *ir.Op) float64 {
	perm, ok := ir.ArgInts(op, ir.ParamPerm)
	if !op.Is(ir.OpTranspose) || !ok || len(perm) == 0 {
		return math.NaN()
	}
	p := perm[0]
	x := first(op)
	if p < 0 {
		p += int64(x.Rank())
	}
	if p != 0 && (dim(x, 0) != 1 || dim(result(op), 0) != 1) {
		return 1
	}
	return 0
}

// uncounted are the arguments whose bytes the framework does not count, by operation or class.
var uncounted = map[*ir.Operation][]ir.ParamName{
	ir.OpMatMul:    {ir.ParamTransposeX, ir.ParamTransposeY},
	ir.OpLayerNorm: {ir.ParamAxes, ir.ParamEpsilon},
}

// countBytes returns the bytes that the framework counts of an operation: the operands, constants among them, of a list
// one tensor, and the first result. Text has no bytes. A pooling operation has 4 bytes for each element of its window
// instead of its constants.
func countBytes(op *ir.Op) float64 {
	total := size(result(op))
	pool := op.Def.Class == ir.Pooling
	if p, err := poolAttrs(op); pool && err == nil {
		total += 4 * product(p.Kernel)
	}
	skip := uncounted[op.Def.Operation]
	for i, a := range op.Args {
		p := &op.Def.Params[i]
		if len(a) == 0 || pool && p.Name != ir.ParamX || slices.Contains(skip, p.Name) {
			continue
		}
		t := a[0].Type
		if p.Name == ir.ParamIndices && t.DType == ir.Int32 && isGather(op) {
			t = t.WithDType(ir.UInt16) // the framework narrows indices
		}
		total += size(t)
	}
	return total
}

func poolAttrs(op *ir.Op) (ir.Pool, error) {
	if op.Def.Class != ir.Pooling {
		return ir.Pool{}, nil
	}
	return ir.PoolAttrs(op)
}

// isGather reports whether an operation picks elements by index.
func isGather(op *ir.Op) bool { return op.Is(ir.OpGather, ir.OpGatherND, ir.OpGatherAlongAxis) }

// operandElements returns the elements of all operands, constants too, of a list one tensor.
func operandElements(op *ir.Op) (total float64) {
	for _, a := range op.Args {
		if len(a) > 0 && a[0].Type.DType != ir.String {
			total += elements(a[0].Type)
		}
	}
	return total
}

// first returns the type of the first operand.
func first(op *ir.Op) ir.Type {
	for _, a := range op.Args {
		if len(a) > 0 {
			return a[0].Type
		}
	}
	return ir.Type{}
}

// result returns the type of the first result; of an operation without results, such as a write to a state, the type of
// its first operand.
func result(op *ir.Op) ir.Type {
	if len(op.Results) > 0 {
		return op.Results[0].Type
	}
	return first(op)
}

// elements returns the elements of a tensor, NaN if a dimension is unknown.
func elements(t ir.Type) float64 {
	n := 1.0
	for _, d := range t.Shape {
		if d < 0 {
			return math.NaN()
		}
		n *= float64(d)
	}
	return n
}

// size returns the bytes of a tensor; text has none.
func size(t ir.Type) float64 {
	if t.DType == ir.String || t.DType == ir.Invalid {
		return 0
	}
	return math.Ceil(elements(t) * float64(t.DType.Bits()) / 8)
}

// dim returns a dimension, NaN if it is unknown.
func dim(t ir.Type, i int) float64 {
	if i >= len(t.Shape) || t.Shape[i] < 0 {
		return math.NaN()
	}
	return float64(t.Shape[i])
}

func product(ns []int64) float64 {
	x := 1.0
	for _, n := range ns {
		x *= float64(n)
	}
	return x
}
