package reported

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// Limits that reports name.
const (
	stateMultiple   = 32
	smallState      = 128  // elements of a state of rank 3 or less that no report is about: tests are that small
	smallCache      = 1024 // likewise of what is scattered into, in fp32
	largeHead       = 256  // heads of up to this size are fused without harm
	mostKeys        = 32768
	oldExtent       = 16384
	newExtent       = 65536
	nearGigabyte    = 900e6
	nearTwoGB       = 1.8e9
	halfBytes       = 2
	longestChain    = 386
	slowChain       = 512
	timeoutProducts = 1 << 42
)

func stateWidth(v *ir.Value) string {
	t := v.Type
	if t.Kind != ir.State || t.Rank() == 0 || t.Rank() < 4 && t.Elems() <= smallState {
		return ""
	}
	if w := t.Shape[t.Rank()-1]; w%stateMultiple != 0 {
		return fmt.Sprintf("the last dimension of the state is %d", w)
	}
	return ""
}

func rank6(v *ir.Value) string {
	if v.Type.Kind != ir.Tensor || v.Type.Rank() < 6 || v.Def != nil && v.Def.Def.Class == ir.Compressed {
		return ""
	}
	return fmt.Sprintf("rank %d", v.Type.Rank())
}

// live reports whether a value is a tensor of numbers that the engine would have in memory.
func live(v *ir.Value) bool {
	return v.Type.Kind == ir.Tensor && v.Const == nil && v.Type.DType.IsFloat() &&
		(v.Def == nil || v.Def.Def.Class != ir.Compressed && v.Def.Def.Class != ir.Randomness)
}

func extent65536(v *ir.Value) string {
	if live(v) {
		for _, d := range v.Type.Shape {
			if d > newExtent {
				return fmt.Sprintf("a dimension of %d", d)
			}
		}
	}
	return ""
}

func extent16384(v *ir.Value) string {
	if !live(v) {
		return ""
	}
	if v.Def != nil && v.Def.Is(ir.OpLinear, ir.OpMatMul) && outputsOf(v.Def) > oldExtent {
		return "" // outputs-16384
	}
	s := v.Type.Shape
	for _, d := range s[max(0, len(s)-2):] {
		if d > oldExtent {
			return fmt.Sprintf("a dimension of %d", d)
		}
	}
	return ""
}

func tensor1GB(v *ir.Value) string {
	if n := v.Type.Elems(); live(v) && float64(n)*halfBytes > nearGigabyte {
		return fmt.Sprintf("%.0f MB as fp16", float64(n)*halfBytes/1e6)
	}
	return ""
}

func constants2GB(s *search) (*ir.Value, string) {
	seen, total := map[*ir.Const]bool{}, 0.0
	ir.Walk(s.fn, func(op *ir.Op) {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.Const != nil && !seen[v.Const] {
				seen[v.Const] = true
				total += float64(max(v.Type.Bytes(), 0))
			}
		})
	})
	if total <= nearTwoGB {
		return nil, ""
	}
	return nil, fmt.Sprintf("%.2f GB of constants", total/1e9)
}

// rangedInput looks for an input with a range of shapes in a function with products.
func rangedInput(s *search) (*ir.Value, string) {
	var input *ir.Value
	detail := ""
	for _, p := range s.fn.Body.Params {
		for i, r := range s.fn.Flex.Ranges[p.Name] {
			if r[0] != r[1] && input == nil {
				input, detail = p, fmt.Sprintf("dimension %d of %s is from %d to %d", i, p.Name, r[0], r[1])
				if r[1] < 0 {
					detail = fmt.Sprintf("dimension %d of %s is %d or more", i, p.Name, r[0])
				}
			}
		}
	}
	if input == nil {
		return nil, ""
	}
	products := false
	ir.Walk(s.fn, func(op *ir.Op) {
		products = products || op.Def.Class == ir.Product && s.fp16(op.Results[0]) && weighted(op)
	})
	if !products {
		return nil, ""
	}
	return input, detail
}

// weighted reports whether a product has an operand that is known before a run.
func weighted(op *ir.Op) bool {
	hit := false
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		hit = hit || v.Type.DType.IsFloat() && v.Type.Rank() > 1 &&
			(v.Const != nil || v.Def != nil && v.Def.Def.Class == ir.Compressed)
	})
	return hit
}

// flexible returns what is flexible about an operand in a function with shapes to choose from, "" for nothing.
func flexible(v *ir.Value) string {
	if v == nil || v.Type.Static() {
		return ""
	}
	return "x is " + v.Type.String()
}

func meanFlexible(s *search, op *ir.Op) string {
	if len(s.fn.Flex.Ranges) == 0 && len(s.fn.Flex.Enums) == 0 || !s.fp16(op.Results[0]) {
		return ""
	}
	return flexible(op.Arg(ir.ParamX))
}

func layerNormEnumerated(s *search, op *ir.Op) string {
	if len(s.fn.Flex.Enums) == 0 {
		return ""
	}
	return flexible(op.Arg(ir.ParamX))
}

// convChain counts the convolutions before a 1x1 convolution, with activations between them.
func convChain(s *search, op *ir.Op) string {
	w := op.Arg(ir.ParamWeight)
	for _, d := range w.Type.Shape[min(2, w.Type.Rank()):] {
		if d != 1 {
			return ""
		}
	}
	x := op.Arg(ir.ParamX)
	for range fewSteps {
		if x.Def == nil || x.Def.Def.Class != ir.Pointwise || x.Def.Arg(ir.ParamX) == nil {
			break
		}
		x = x.Def.Arg(ir.ParamX)
	}
	n := 1 + s.depth(s.convs, x.Def)
	s.convs[op] = n
	if n != longestChain+1 { // once for a chain
		return ""
	}
	return fmt.Sprintf("convolution %d of a chain", n)
}

// pointwiseChain counts the elementwise operations before one.
func pointwiseChain(s *search, op *ir.Op) string {
	n := 0
	op.Operands(func(_ *ir.Param, v *ir.Value) { n = max(n, s.depth(s.pointwise, v.Def)) })
	s.pointwise[op] = n + 1
	if n+1 != slowChain {
		return ""
	}
	return fmt.Sprintf("operation %d of a chain", n+1)
}

// depth returns the length of the chain that ends in op.
func (s *search) depth(chain map[*ir.Op]int, op *ir.Op) int {
	if op == nil {
		return 0
	}
	return chain[op]
}

// pointwiseOps are the elementwise operations.
func pointwiseOps() (os ops) {
	for _, o := range ir.Operations {
		if o.Class == ir.Pointwise {
			os = append(os, o)
		}
	}
	return os
}
