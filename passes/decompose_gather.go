package passes

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// gatherDecompositions are the decompositions of operations that select elements by index.
var gatherDecompositions = []Decomposition{
	{Name: "indexed-parts", Ops: ops{ir.OpGather, ir.OpGatherAlongAxis, ir.OpGatherND},
		Doc:    "slices at the indices, joined",
		Covers: "constant indices", apply: indexedParts},
	{Name: "selection-matrix", Ops: ops{ir.OpGather, ir.OpGatherAlongAxis, ir.OpGatherND},
		Doc: "matmul with a constant matrix of one 1 in each column; an infinity in a row of x makes the row's " +
			"results NaN, and subnormal numbers are 0",
		Covers: "constant indices in more than 128 runs", apply: selectionMatrix},
}

// A lookup describes what constant indices select: places along a dimension that merges dimensions lo to hi of x.
type lookup struct {
	x      *ir.Value
	lo, hi int
	at     []int64
	batch  int64 // of a gather with a batch: how many parts of dimensions 0 to hi-1 have indices of their own
}

// merged returns x with dimensions lo to hi merged into one.
func (c *decomposer) merged(l lookup) *ir.Value {
	s := l.x.Type.Shape
	return c.Reshape(l.x, slices.Concat(s[:l.lo], []int64{volume(s[l.lo : l.hi+1])}, s[l.hi+1:])...)
}

// looked decodes an operation with constant indices.
func (c *decomposer) looked() (l lookup) {
	x, idx := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamIndices)
	if x.IsConst() || !idx.IsConst() || idx.Type.DType.Bits()%8 != 0 {
		c.Fail("x is constant or indices are computed")
	}
	if idx.Type.Elems() > maxMade {
		c.past("indices", idx.Type.Elems(), maxMade)
	}
	is, shape := slices.Clone(idx.Const.Ints()), x.Type.Shape
	place := func(i, n int64) int64 {
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			c.Fail("index %d of %d elements", i, n)
		}
		return i
	}
	if c.op.Is(ir.OpGatherND) {
		return c.coordinates(x, idx, is, place)
	}
	g, err := ir.GatherAttrs(c.op)
	if err != nil {
		c.Fail("%v", err)
	}
	n := shape[g.Axis]
	for i := range is {
		is[i] = place(is[i], n)
	}
	if c.op.Is(ir.OpGather) {
		// Each element of the dimensions before the axis has the indices of its batch.
		batch, lead := volume(shape[:g.BatchDims]), volume(shape[g.BatchDims:g.Axis])
		per := int64(len(is)) / max(batch, 1)
		if batch == 1 {
			return lookup{x: x, lo: g.Axis, hi: g.Axis, at: is}
		}
		var at []int64
		for o := range batch * lead {
			for _, v := range is[o/lead*per : (o/lead+1)*per] {
				at = append(at, o*n+v)
			}
		}
		return lookup{x: x, hi: g.Axis, at: at, batch: batch}
	}
	// Along an axis each element has its own index. It may or may not be the same for the following dimensions.
	lead, m, tail := volume(shape[:g.Axis]), idx.Type.Shape[g.Axis], volume(shape[g.Axis+1:])
	alike, whole := true, true // over the dimensions before the axis, over those after it
	for i, v := range is {
		o, j, k := int64(i)/(m*tail), int64(i)/tail%m, int64(i)%tail
		alike = alike && v == is[j*tail+k]
		whole = whole && v == is[(o*m+j)*tail]
	}
	last := len(shape) - 1
	switch {
	case alike && whole:
		at := make([]int64, m)
		for j := range m {
			at[j] = is[j*tail]
		}
		return lookup{x: x, lo: g.Axis, hi: g.Axis, at: at}
	case whole:
		var at []int64
		for o := range lead {
			for j := range m {
				at = append(at, o*n+is[(o*m+j)*tail])
			}
		}
		return lookup{x: x, hi: g.Axis, at: at}
	}
	if alike {
		lead = 1
	}
	var at []int64
	for o := range lead {
		for j := range m {
			for k := range tail {
				at = append(at, (o*n+is[(o*m+j)*tail+k])*tail+k)
			}
		}
	}
	if alike {
		return lookup{x: x, lo: g.Axis, hi: last, at: at}
	}
	return lookup{x: x, hi: last, at: at}
}

// coordinates decodes gather_nd.
func (c *decomposer) coordinates(x, idx *ir.Value, is []int64, place func(i, n int64) int64) lookup {
	batch := int64(0)
	if c.op.Def.ParamIndex(ir.ParamBatchDims) >= 0 {
		b, ok := ir.ArgInt(c.op, ir.ParamBatchDims)
		if !ok {
			c.Fail("batch_dims is computed")
		}
		batch = b
	}
	shape := x.Type.Shape
	k := idx.Type.Shape[idx.Type.Rank()-1]
	if k == 0 {
		c.Fail("indices have no coordinates")
	}
	lead, within := volume(shape[:batch]), shape[batch:batch+k]
	per := int64(len(is)) / k / lead // for each element of the batch
	var at []int64
	for o := range lead {
		for i := range per {
			p := o
			for d, v := range is[(o*per+i)*k : (o*per+i+1)*k] {
				p = p*within[d] + place(v, within[d])
			}
			at = append(at, p)
		}
	}
	return lookup{x: x, hi: int(batch+k) - 1, at: at}
}

func indexedParts(c *decomposer) {
	l := c.looked()
	if l.lo == 0 && l.batch > 1 && l.hi < l.x.Type.Rank()-1 {
		// [batch, lead, n, tail] as [batch, n, lead, tail], for fewer and longer slices.
		s := l.x.Type.Shape
		n, row := s[l.hi], s[len(s)-1]
		lead := volume(s[:l.hi]) / l.batch
		y := c.Reshape(l.x, l.batch, lead, n, volume(s[l.hi+1:])/row, row)
		y = c.Reshape(c.Transpose(y, 0, 2, 1, 3, 4), l.batch*n, lead, volume(s[l.hi+1:])/row, row)
		m := int64(len(l.at)) / (l.batch * lead)
		var at []int64
		for b := range l.batch {
			for _, p := range l.at[b*lead*m : b*lead*m+m] {
				at = append(at, p-b*lead*n+b*n)
			}
		}
		y = c.taken(y, 0, at)
		c.shaped(c.Transpose(c.Reshape(y, l.batch, m, lead, volume(s[l.hi+1:])/row, row), 0, 2, 1, 3, 4))
		return
	}
	c.shaped(c.taken(c.merged(l), l.lo, l.at))
}

// selectionMatrix moves the axis to the end and multiplies with a column for each index.
func selectionMatrix(c *decomposer) {
	l := c.looked()
	x := c.merged(l)
	n, m := x.Type.Shape[l.lo], int64(len(l.at))
	if len(runsOf(l.at)) <= maxPieces {
		c.Fail("selects up to %d runs of elements", maxPieces)
	}
	if n*m > maxMade {
		c.past("elements of a matrix of ones and zeros", n*m, maxMade)
	}
	idx := c.op.Arg(ir.ParamIndices)
	matrix := c.computed(func(i int64) float64 {
		if l.at[i%m] == i/m {
			return 1
		}
		return 0
	}, []int64{n, m}, idx)
	rank := x.Type.Rank()
	if rank == 1 {
		c.shaped(c.MatMul(c.Reshape(x, 1, n), matrix, false))
		return
	}
	perm := exchangeOf(rank, l.lo, rank-1)
	c.shaped(c.Transpose(c.MatMul(c.Transpose(x, perm...), matrix, false), perm...))
}
