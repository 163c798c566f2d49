package irgen

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// grid says that the elements of a tensor are multiples of step, a power of two, with magnitudes of at most top.
type grid struct{ top, step float64 }

// fits reports whether every number of the grid is exact in fp16.
func (g grid) fits() bool { return g.top/g.step <= 2048 && g.step >= 1.0/1024 && g.top <= 32000 }

// join returns the grid that contains the numbers of both.
func (g grid) join(o grid) grid { return grid{max(g.top, o.top), min(g.step, o.step)} }

// times returns the grid of sums of n products of one number from each.
func (g grid) times(o grid, n int64) grid { return grid{g.top * o.top * float64(n), g.step * o.step} }

// gridOfConst returns the grid of a constant.
func gridOfConst(c *ir.Const) grid {
	g := grid{0, 1}
	for _, v := range c.Floats() {
		g.top = max(g.top, math.Abs(v))
		for v != math.Trunc(v/g.step)*g.step {
			g.step /= 2
		}
	}
	return g
}

// gridOfValue returns the grid of an argument; absent ones are zeros.
func (m *maker) gridOfValue(v *ir.Value) grid {
	switch {
	case v == nil:
		return grid{0, 1}
	case v.Const != nil:
		return gridOfConst(v.Const)
	}
	return m.grids[v]
}

// sumOfRow returns the largest sum of magnitudes of the elements of a constant that share an index on the first axis.
func sumOfRow(c *ir.Const) float64 {
	largest := 0.0
	vs := c.Floats()
	n := len(vs) / int(max(1, c.Type.Shape[0]))
	for ; len(vs) > 0; vs = vs[n:] {
		sum := 0.0
		for _, v := range vs[:n] {
			sum += math.Abs(v)
		}
		largest = max(largest, sum)
	}
	return largest
}

// gridOf returns the grid of an operation's results, including intermediate sums, or false if the operation may round.
func (m *maker) gridOf(op *ir.Op) (grid, bool) {
	x, y := m.gridOfValue(op.Arg(ir.ParamX)), m.gridOfValue(op.Arg(ir.ParamY))
	switch op.Def.Operation {
	case ir.OpReshape, ir.OpTranspose, ir.OpExpandDims, ir.OpSqueeze, ir.OpSplit, ir.OpSliceByIndex, ir.OpRelu,
		ir.OpAbs, ir.OpMaxPool, ir.OpReduceMax, ir.OpTile, ir.OpReverse, ir.OpCrop, ir.OpFlatten2D,
		ir.OpReshapeLike, ir.OpGather, ir.OpGatherAlongAxis, ir.OpGatherND, ir.OpDepthToSpace,
		ir.OpPixelShuffle, ir.OpSpaceToDepth, ir.OpPixelUnshuffle, ir.OpSpaceToBatch, ir.OpBatchToSpace,
		ir.OpSlidingWindows, ir.OpBandPart:
		return x, true
	case ir.OpConcat, ir.OpStack:
		g := grid{0, 1}
		for _, v := range op.ArgList(ir.ParamValues) {
			g = g.join(m.gridOfValue(v))
		}
		return g, true
	case ir.OpSliceUpdate:
		return x.join(m.gridOfValue(op.Arg(ir.ParamUpdate))), true
	case ir.OpPad:
		return x.join(m.gridOfValue(op.Arg(ir.ParamConstantVal))), true
	case ir.OpRelu6:
		return x.join(grid{0, 2}), true
	case ir.OpClip:
		return x.join(m.gridOfValue(op.Arg(ir.ParamAlpha))).join(m.gridOfValue(op.Arg(ir.ParamBeta))), true
	case ir.OpAdd, ir.OpSub:
		return grid{x.top + y.top, min(x.step, y.step)}, true
	case ir.OpMaximum, ir.OpMinimum:
		return x.join(y), true
	case ir.OpSelect:
		return m.gridOfValue(op.Arg(ir.ParamA)).join(m.gridOfValue(op.Arg(ir.ParamB))), true
	case ir.OpEqual, ir.OpNotEqual, ir.OpLess, ir.OpLessEqual, ir.OpGreater, ir.OpGreaterEqual, ir.OpLogicalNot,
		ir.OpLogicalAnd, ir.OpLogicalOr, ir.OpLogicalXor, ir.OpSign:
		return grid{1, 1}, true
	case ir.OpFloor, ir.OpCeil, ir.OpRound:
		return grid{math.Ceil(x.top), max(x.step, 1)}, true
	case ir.OpMul:
		return x.times(y, 1), true
	case ir.OpLinear, ir.OpConv:
		w, bias := op.Arg(ir.ParamWeight), m.gridOfValue(op.Arg(ir.ParamBias))
		if w.Const == nil {
			return grid{}, false
		}
		return grid{x.top*sumOfRow(w.Const) + bias.top, min(x.step*gridOfConst(w.Const).step, bias.step)}, true
	case ir.OpMatMul:
		s := op.Arg(ir.ParamX).Type.Shape
		terms := s[len(s)-1]
		if t := op.Arg(ir.ParamTransposeX); t != nil && t.Const.Bool(0) && len(s) > 1 {
			terms = s[len(s)-2]
		}
		return x.times(y, terms), true
	case ir.OpReduceSum, ir.OpReduceMean:
		n := op.Arg(ir.ParamX).Type.Elems() / op.Results[0].Type.Elems()
		sum := grid{x.top * float64(n), x.step}
		if op.Is(ir.OpReduceSum) {
			return sum, true
		}
		// The sum of the quotients has as many bits as the sum.
		return grid{x.top, x.step / float64(n)}, n&(n-1) == 0 && sum.fits()
	}
	return grid{}, false
}
