package passes

import (
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// productDecompositions are the decompositions of products and of sums along an axis.
var productDecompositions = []Decomposition{
	{Name: "attention-by-parts", Ops: ops{ir.OpScaledDotProductAttention}, Also: []ir.DType{ir.Bool, ir.FP32},
		fp16: true, Doc: "mul of the query by the scale, matmul, add of the mask or select by it, softmax, matmul",
		apply: attentionByParts},
	{Name: "matrix-product", Ops: ops{ir.OpEinsum}, Covers: "equations in which no operand has a letter twice",
		Doc:   "reduce_sum over letters that only one operand has, transpose, reshape, matmul, reshape, transpose",
		apply: matrixProduct},
	{Name: "triangle", Ops: ops{ir.OpCumsum},
		Doc: "matmul with a constant triangle of ones, of blocks where the axis is long", apply: triangle},
}

// maxMasked is the number that a mask adds where it is false.
const maxMasked = -65504

// attentionByParts scales the query and not the scores, which before scaling may be larger than fp16 can represent.
func attentionByParts(c *decomposer) {
	q, k, v := c.op.Arg(ir.ParamQuery), c.op.Arg(ir.ParamKey), c.op.Arg(ir.ParamValue)
	width := q.Type.Shape[q.Type.Rank()-1]
	s := c.MatMul(c.mul(q, c.num(1/math.Sqrt(float64(width)))), k, true)
	switch m := c.op.Arg(ir.ParamAttnMask); {
	case m == nil:
	case m.Type.DType == ir.FP32 && m.IsConst():
		s = c.add(s, c.computed(m.Const.Float, m.Type.Shape, m))
	case m.Type.DType == ir.FP32:
		s = c.add(s, c.Cast(m, ir.FP16))
	case m.Type.DType != ir.Bool:
		s = c.add(s, m)
	case m.IsConst():
		s = c.add(s, c.computed(func(i int64) float64 {
			if m.Const.Int(i) != 0 {
				return 0
			}
			return maxMasked
		}, m.Type.Shape, m))
	default:
		s = c.Do(ir.OpSelect, arg(ir.ParamCond, m), arg(ir.ParamA, s), arg(ir.ParamB, c.num(maxMasked)))
	}
	c.become(c.MatMul(c.Do(ir.OpSoftmax, arg(ir.ParamX, s), arg(ir.ParamAxis, c.Int(-1))), v, false))
}

// letters is an operand of an equation and the letters of its dimensions.
type letters struct {
	v    *ir.Value
	axes string
}

// dropLetters sums over the letters that drop selects, and removes dimensions of 1 that are larger in other operands.
func (c *decomposer) dropLetters(l letters, drop func(r rune, n int64) bool) letters {
	var axes []int
	kept := ""
	shape := []int64{}
	sum := false
	for i, r := range l.axes {
		n := l.v.Type.Shape[i]
		if drop(r, n) {
			axes = append(axes, i)
			sum = sum || n != 1
			continue
		}
		kept += string(r)
		shape = append(shape, n)
	}
	if sum {
		l.v = c.reduce(ir.OpReduceSum, l.v, axes)
	}
	if len(axes) > 0 {
		l.v = c.Reshape(l.v, shape...)
	}
	return letters{l.v, kept}
}

// ordered transposes an operand to the order of the letters and merges them into groups.
func (c *decomposer) ordered(l letters, groups ...string) *ir.Value {
	var perm, shape []int64
	for _, g := range groups {
		n := int64(1)
		for _, r := range g {
			i := strings.IndexRune(l.axes, r)
			perm = append(perm, int64(i))
			n *= l.v.Type.Shape[i]
		}
		shape = append(shape, n)
	}
	return c.Reshape(c.Transpose(l.v, perm...), shape...)
}

// matrixProduct writes an equation of two operands as a product of matrices. Letters of both operands and the result
// count matrices, letters only of both operands are summed, and letters of one operand and the result are rows or
// columns.
func matrixProduct(c *decomposer) {
	eq, _ := ir.ArgString(c.op, ir.ParamEquation)
	terms, result, ok := ir.ParseEinsum(eq)
	vs := c.op.ArgList(ir.ParamValues)
	if !ok || len(terms) != 2 || len(vs) != 2 {
		c.Fail("the equation %q is not of two operands", eq)
	}
	for _, t := range append(terms, result) {
		for i := range t {
			if strings.IndexByte(t[i+1:], t[i]) >= 0 {
				c.Fail("%q has the letter %c twice", t, t[i])
			}
		}
	}
	size := map[rune]int64{}
	for i, t := range terms {
		for d, r := range t {
			size[r] = max(size[r], vs[i].Type.Shape[d])
		}
	}
	var in [2]letters
	for i := range in {
		other := terms[1-i]
		in[i] = c.dropLetters(letters{vs[i], terms[i]}, func(r rune, n int64) bool {
			return !strings.ContainsRune(other, r) && !strings.ContainsRune(result, r) ||
				n == 1 && (size[r] > 1 || !strings.ContainsRune(result, r))
		})
	}
	// A letter that only one operand still has, since the other's dimension is 1, and that is summed.
	for i := range in {
		other := in[1-i].axes
		in[i] = c.dropLetters(in[i], func(r rune, n int64) bool {
			return !strings.ContainsRune(other, r) && !strings.ContainsRune(result, r)
		})
	}
	var batch, sum, rows, columns string
	for _, r := range in[0].axes {
		both, out := strings.ContainsRune(in[1].axes, r), strings.ContainsRune(result, r)
		switch {
		case both && out:
			batch += string(r)
		case both:
			sum += string(r)
		default:
			rows += string(r)
		}
	}
	for _, r := range in[1].axes {
		if !strings.ContainsRune(batch+sum, r) {
			columns += string(r)
		}
	}
	batch = sortedBy(batch, result)
	rows, columns = sortedBy(rows, result), sortedBy(columns, result)
	x := c.ordered(in[0], batch, rows, sum)
	y := c.ordered(in[1], batch, sum, columns)
	if batch == "" {
		x, y = c.Reshape(x, x.Type.Shape[1:]...), c.Reshape(y, y.Type.Shape[1:]...)
	}
	z := c.MatMul(x, y, false)
	made := batch + rows + columns
	var shape []int64
	for _, r := range made {
		shape = append(shape, size[r])
	}
	z = c.Reshape(z, shape...)
	var perm []int64
	for _, r := range result {
		if i := strings.IndexRune(made, r); i >= 0 {
			perm = append(perm, int64(i))
		}
	}
	c.shaped(c.Transpose(z, perm...))
}

// sortedBy returns letters in the order in which another string has them.
func sortedBy(of, order string) string {
	b := []rune(of)
	slices.SortFunc(b, func(x, y rune) int { return strings.IndexRune(order, x) - strings.IndexRune(order, y) })
	return string(b)
}

// longAxis is the length from which a running sum is computed in blocks.
const longAxis = 1024

// triangle sums along an axis by multiplying by a triangle of ones. A long axis is divided into blocks that are summed
// so, and the sum of everything before each block is the running sum of the blocks' sums.
func triangle(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, x.Type.Rank())
	exclusive, ok := ir.ArgBool(c.op, ir.ParamExclusive)
	reverse, ok2 := ir.ArgBool(c.op, ir.ParamReverse)
	if err != nil || !ok || !ok2 {
		c.Fail("axis, exclusive or reverse is known only at run time")
	}
	shape := x.Type.Shape
	perm := exchangeOf(len(shape), axis, len(shape)-1)
	y := c.Transpose(x, perm...)
	n := shape[axis]
	rows := x.Type.Elems() / n
	transposed := y.Type.Shape
	y = c.runningSum(c.Reshape(y, rows, n), rows, n, exclusive, reverse)
	c.shaped(c.Transpose(c.Reshape(y, transposed...), perm...))
}

// runningSum returns the running sum of each row of x.
func (c *decomposer) runningSum(x *ir.Value, rows, n int64, exclusive, reverse bool) *ir.Value {
	if n <= longAxis {
		return c.MatMul(x, c.triangle(n, exclusive, reverse), false)
	}
	size := int64(math.Ceil(math.Sqrt(float64(n))))
	size = (size + 31) / 32 * 32
	blocks := (n + size - 1) / size
	x = c.Pad(x, []int64{0, 0, 0, blocks*size - n})
	x = c.Reshape(x, rows, blocks, size)
	inside := c.MatMul(x, c.triangle(size, exclusive, reverse), false)
	total := c.Reshape(c.reduce(ir.OpReduceSum, x, []int{2}), rows, blocks)
	before := c.Reshape(c.runningSum(total, rows, blocks, true, reverse), rows, blocks, 1)
	y := c.Reshape(c.add(inside, before), rows, blocks*size)
	if blocks*size > n {
		y = c.Slice(y, 1, 0, n)
	}
	return y
}

// triangle returns the constant matrix whose product with a row is the running sum of the row.
func (c *decomposer) triangle(n int64, exclusive, reverse bool) *ir.Value {
	key := "triangle"
	if exclusive {
		key += " exclusive"
	}
	if reverse {
		key += " reverse"
	}
	return c.matrix(key, n, n, func(r, k int64) float64 {
		if reverse {
			r, k = k, r
		}
		if r < k || r == k && !exclusive {
			return 1
		}
		return 0
	})
}
