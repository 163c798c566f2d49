package explain

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// A Recipe is one way to rewrite a statement: one that the engine refuses so that the engine accepts it, or one that it
// accepts so that it takes less time.
type Recipe struct {
	Name  string
	Rules []string // IDs of the target.Rules for whose refusals it is; none for statements that are accepted
	// Ops and Class restrict the operations that it applies to; if neither is set, it applies to all operations.
	Ops   ops
	Class ir.Class
	Doc   string // what it writes; "" means the registry's Instead
	Host  ops    // operations of the replacement that may run on the CPU
	// Interface says that it changes the function's inputs, outputs or states, not only its body.
	Interface bool
	// ToFP16 says that it computes in fp16 what was computed in fp32. Both are compared on fp16 numbers.
	ToFP16 bool
	// Retrain says why the changed model must be trained again; "" if it computes the same.
	Retrain string
	apply   func(e *edit)
}

type ops = []*ir.Operation

// Recipes lists the recipes. Those for a rule are tried in this order.
var Recipes = []Recipe{
	{Name: "fix-shape", Rules: []string{target.RuleDynamic}, Interface: true,
		Doc: "unknown dimensions of the function's inputs are fixed", apply: fixShape},
	{Name: "compute-in-fp16", Rules: []string{target.RuleFloatType}, ToFP16: true,
		Doc: "operands are cast to fp16, and the result is cast back", apply: inFP16},
	{Name: "pad-states", Rules: []string{target.RuleState}, Interface: true,
		Doc:   "the function's states are widened to the next multiple: written values are padded, read values sliced",
		apply: padStates},
	{Name: "fold-rows", Rules: []string{target.RuleExtent}, Class: ir.Pointwise,
		Doc: "the wide dimension is split into two, and merged again in the result", apply: foldRows},
	{Name: "merge-dimensions", Rules: []string{target.RuleRank}, Class: ir.Pointwise,
		Doc: "the first dimensions are merged, and divided again in the result", apply: mergeDimensions},
	{Name: "split-kernel", Rules: []string{target.RuleKernel}, Ops: ops{ir.OpConv},
		Doc: "parts of the kernel are convolved with shifted slices, and the results added", apply: splitKernel},
	{Name: "split-channels", Rules: []string{target.RuleKernelBytes}, Ops: ops{ir.OpConv},
		Doc: "parts of the input channels are convolved, and the results added", apply: splitChannels},
	{Name: "split-outputs", Rules: []string{target.RuleExtent}, Ops: ops{ir.OpMatMul, ir.OpConv},
		Doc: "parts of the outputs are computed, and joined", apply: splitOutputs},
	{Name: "one-hot", Rules: []string{target.RuleRuntime}, Ops: ops{ir.OpGather},
		Doc: "one-hot indices are multiplied with the table", Host: ops{ir.OpOneHot}, apply: oneHot},

	// Of statements that are accepted, and where the recipe looks further than the statement.
	{Name: "island-in-fp16", Ops: ops{ir.OpCast}, ToFP16: true, apply: islandInFP16,
		Doc: "what casts from fp16, or inputs in fp32, and a cast to fp16 enclose computes in fp16"},
	{Name: "fp16-inputs", Ops: ops{ir.OpCast}, Interface: true, apply: halfInputs,
		Doc: "the function takes and returns fp16 instead of casting"},
	{Name: "attention-by-head", Ops: ops{ir.OpMatMul, ir.OpScaledDotProductAttention}, apply: byHead,
		Doc: "attention is computed head by head, on slices of the rows"},
	{Name: "attention-in-channels", Ops: ops{ir.OpMatMul, ir.OpScaledDotProductAttention}, apply: byHeadInChannels,
		Doc: "attention is computed head by head in the layout [1, C, 1, S], its projections as 1x1 convolutions"},
	{Name: "group-queries", Ops: ops{ir.OpMatMul, ir.OpScaledDotProductAttention}, apply: groupQueries,
		Doc: "queries that share a key or value are rows of one matrix, and the key or value is not repeated"},
	{Name: "normalise-late", Ops: ops{ir.OpMatMul}, apply: normaliseLate,
		Doc: "exponentials are multiplied, and the product divided by their sum, instead of softmax before a product"},
	{Name: "softmax-over-channels", Ops: ops{ir.OpSoftmax}, apply: overChannels,
		Doc: "the last dimension is made the channels, softmax taken over them, and moved back"},
	{Name: "merge-convolutions", Ops: ops{ir.OpConv}, apply: mergeConvs,
		Doc: "two convolutions without an activation between them are one"},
	{Name: "merge-linears", Ops: ops{ir.OpLinear}, apply: mergeLinears,
		Doc: "two linear layers without an activation between them are one"},
	{Name: "join-linears", Ops: ops{ir.OpLinear}, apply: joinLinears,
		Doc: "linear layers of one value are one layer, whose result is sliced"},
	{Name: "linear-as-convolution", Ops: ops{ir.OpLinear}, apply: linearAsConv,
		Doc: "linear layers are 1x1 convolutions in the layout [1, C, 1, S]"},
	{Name: "convolve-parts", Ops: ops{ir.OpConv}, apply: convOfParts,
		Doc: "the operands of a concatenation are convolved one by one, and the results added"},
	{Name: "widen-rows", Class: ir.Pointwise, apply: widenRows,
		Doc: "rows of less than 32 elements are joined for the operation"},
	{Name: "slice-first", Ops: ops{ir.OpSliceByIndex, ir.OpSliceBySize}, apply: sliceFirst,
		Doc: "the operand is sliced instead of the result"},
	{Name: "upsample-by-convolution", Ops: ops{ir.OpUpsampleNearestNeighbor}, apply: upsampleByConv,
		Doc: "elements are repeated by a transposed convolution of each channel with ones"},
	{Name: "mean-by-pooling", Ops: ops{ir.OpReduceMean}, apply: meanByPool,
		Doc: "means over rows and columns are average pooling"},
	{Name: "silu", Ops: ops{ir.OpMul}, apply: siluWhole, Doc: "x sigmoid(x) is silu"},
	{Name: "silu-by-parts", Ops: ops{ir.OpSilu}, apply: siluByParts, Doc: "silu is x sigmoid(x)"},
	{Name: "tanh-by-sigmoid", Ops: ops{ir.OpTanh}, apply: tanhBySigmoid, Doc: "tanh is 2 sigmoid(2x) - 1"},
	{Name: "zero-padding", Ops: ops{ir.OpPad}, apply: padZeros, Retrain: "the model must be trained again with it",
		Doc: "borders are padded with zeros instead of copies, which convolutions do by themselves"},
	{Name: "smaller-kernels", Ops: ops{ir.OpConv}, apply: smallerKernels,
		Retrain: "the model must be trained again with it",
		Doc:     "a kernel of 7 or more taps along a side is two, one after the other, that reach as far"},
}

// recipeNamed returns the row of Recipes with a name, or nil if no row has it.
func recipeNamed(name string) *Recipe {
	i := slices.IndexFunc(Recipes, func(r Recipe) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &Recipes[i]
}

// For reports whether a recipe is for an operation that a rule refuses, or with "" for one that the engine accepts.
func (r *Recipe) For(rule string, o *ir.Operation) bool {
	return (slices.Contains(r.Rules, rule) || rule == "" && len(r.Rules) == 0) &&
		(r.Ops == nil && r.Class == 0 || slices.Contains(r.Ops, o) || r.Class == o.Class)
}

// Writes describes what a recipe writes for an operation.
func (r *Recipe) Writes(o *ir.Operation) string { return cmp.Or(r.Doc, o.Instead) }

// live returns the only nonconstant operand of an operation, and its parameter, if all others are
// constants of one element.
func live(op *ir.Op) (ir.ParamName, *ir.Value) {
	name, v := ir.ParamName(""), (*ir.Value)(nil)
	ok := true
	op.Operands(func(p *ir.Param, a *ir.Value) {
		switch {
		case !a.IsConst() && v == nil:
			name, v = p.Name, a
		case !a.IsConst() || a.Type.Elems() != 1:
			ok = false
		}
	})
	if !ok || v == nil || !v.Type.Static() {
		return "", nil
	}
	return name, v
}

// reshaped writes a pointwise operation with its operand in another shape. If a constant of one element has more
// dimensions than the operand, the result has as many as the constant.
func (e *edit) reshaped(shape []int64) {
	p, x := live(e.op)
	y := e.again(arg(p, e.Reshape(x, shape...)))
	e.become(e.Reshape(y, e.op.Results[0].Type.Shape...))
}

// foldRows splits rows into rows of a width that the engine accepts.
func foldRows(e *edit) {
	_, x := live(e.op)
	if x == nil || x.Type.Rank() == 0 {
		e.not()
	}
	shape := x.Type.Shape
	last := len(shape) - 1
	var w int64
	for d := int64(e.t.MaxWidth); d > 1 && w == 0; d-- {
		if shape[last]%d == 0 {
			w = d
		}
	}
	if shape[last] <= int64(e.t.MaxWidth) || w == 0 {
		e.not()
	}
	rows := shape[last] / w
	for _, d := range shape[:last] {
		rows *= d
	}
	e.reshaped([]int64{1, rows, w})
}

// mergeDimensions merges the first dimensions.
func mergeDimensions(e *edit) {
	_, x := live(e.op)
	if x == nil || x.Type.Rank() <= e.t.MaxRank {
		e.not()
	}
	shape := x.Type.Shape
	first := int64(1)
	keep := e.t.MaxRank - 1
	for _, d := range shape[:len(shape)-keep] {
		first *= d
	}
	e.reshaped(append([]int64{first}, shape[len(shape)-keep:]...))
}

// inFP16 computes an fp32 operation in fp16.
func inFP16(e *edit) {
	old := e.op.Results
	if len(old) != 1 || old[0].Type.DType != ir.FP32 || len(e.op.Blocks) > 0 {
		e.not()
	}
	var as []ir.Arg
	e.op.Operands(func(p *ir.Param, v *ir.Value) {
		if p.Variadic {
			e.not()
		}
		if v.Type.DType != ir.FP32 {
			return
		}
		if c := known(v); c != nil {
			as = append(as, arg(p.Name, e.constInFP16(string(p.Name), v.Type, c)))
			return
		}
		as = append(as, arg(p.Name, e.Cast(v, ir.FP16)))
	})
	y := e.again(as...)
	if y != nil && y.Type.DType != ir.FP16 {
		e.not()
	}
	e.note = "computes in fp16"
	e.become(e.Cast(y, ir.FP32))
}

// constInFP16 is a constant in fp16, each element rounded once.
func (e *edit) constInFP16(what string, t ir.Type, c *ir.Const) *ir.Value {
	n := c.Elems()
	if n > maxMatrix {
		return e.Fail("%s has %d elements; a rewrite creates at most %d", what, n, maxMatrix)
	}
	if t.Rank() == 0 {
		return e.Num(ir.FP16, c.Float(0))
	}
	data := make([]byte, 0, 2*n)
	for i := range n {
		data = ir.AppendElem(data, ir.FP16, c.Float(i))
	}
	return e.constant(what, t.WithDType(ir.FP16), data)
}

// fixShape sets the inputs' unknown dimensions to the default of the model, or to fixedExtent,
// within their range if they have one.
func fixShape(e *edit) {
	for _, v := range e.fn.Body.Params {
		if v.Type.Static() || v.Type.Kind != ir.Tensor {
			continue
		}
		shape := slices.Clone(v.Type.Shape)
		for i, d := range shape {
			if d >= 0 {
				continue
			}
			shape[i] = fixedExtent
			if def := e.fn.Flex.Default[v.Name]; i < len(def) && def[i] > 0 {
				shape[i] = def[i]
			} else if r := e.fn.Flex.Ranges[v.Name]; i < len(r) {
				shape[i] = max(shape[i], r[i][0])
				if r[i][1] > 0 {
					shape[i] = min(shape[i], r[i][1])
				}
			}
		}
		v.Type.Shape = shape
		if n := v.Type.Elems(); n < 0 || n > maxInput {
			e.Fail("input %q of %s exceeds the %d elements on which a rewrite is run", v.Name, v.Type, maxInput)
			return
		}
		if e.note == "" {
			e.note = "is valid for the shapes that it fixes; write those that you need, or compile with them: " +
				v.Name + "=" + dims(shape)
		}
	}
	if e.note == "" {
		e.not()
	}
	e.fn.Flex = ir.Flexible{}
	for _, op := range e.fn.Body.Ops {
		if len(op.Blocks) > 0 {
			e.Fail("%s has blocks, for which shapes are not inferred again", op.Def.Name)
			return
		}
		ts, err := ir.InferOp(op)
		if err != nil {
			e.Fail("with fixed inputs: %s: %w", op.Def.Name, err)
			return
		}
		for i, t := range ts {
			op.Results[i].Type = t
		}
	}
	e.Ops = []*ir.Op{e.op}
}

// maxInput is the maximum number of elements of an input whose shape a rewrite fixes.
const maxInput = 1 << 24

// fixedExtent is the size of a dimension without a default: a row of 64 bytes in fp16.
const fixedExtent = 32
