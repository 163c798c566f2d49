package passes

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// spaceDecompositions are the decompositions of operations that move blocks between space, channels and batch.
var spaceDecompositions = []Decomposition{
	{Name: "blocks", Ops: ops{ir.OpDepthToSpace, ir.OpPixelShuffle, ir.OpSpaceToDepth, ir.OpPixelUnshuffle},
		Doc:   "reshape and transpose, again where the last dimension is cut or joined or rank 5 does not do",
		apply: blocksMoved},
	{Name: "batch-blocks", Ops: ops{ir.OpSpaceToBatch, ir.OpBatchToSpace},
		Doc:   "pad or slice_by_size, and reshape and transpose as for channels",
		apply: batchMoved},
}

func blocksMoved(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	name := ir.ParamBlockSize
	switch c.op.Def.Operation {
	case ir.OpPixelShuffle:
		name = ir.ParamUpscaleFactor
	case ir.OpPixelUnshuffle:
		name = ir.ParamDownscaleFactor
	}
	b, ok := ir.ArgInt(c.op, name)
	if !ok {
		c.Fail("%s is computed", name)
	}
	s := x.Type.Shape
	n, ch, h, w := s[0], s[1], s[2], s[3]
	var y *ir.Value
	switch c.op.Def.Operation {
	case ir.OpDepthToSpace:
		y = c.arranged(x, []int64{n, b, b, ch / (b * b), h, w}, 1, []int{0, 3, 4, 1, 5, 2}, 2)
	case ir.OpPixelShuffle:
		y = c.arranged(x, []int64{n, ch / (b * b), b, b, h, w}, 1, []int{0, 1, 4, 2, 5, 3}, 2)
	case ir.OpSpaceToDepth:
		y = c.arranged(x, []int64{n, ch, h / b, b, w / b, b}, 2, []int{0, 3, 5, 1, 2, 4}, 1)
	case ir.OpPixelUnshuffle:
		y = c.arranged(x, []int64{n, ch, h / b, b, w / b, b}, 2, []int{0, 1, 3, 5, 2, 4}, 1)
	}
	c.shaped(y)
}

func batchMoved(c *decomposer) {
	x, out := c.op.Arg(ir.ParamX), c.op.Results[0].Type.Shape
	margins := ir.ParamPaddings
	if c.op.Is(ir.OpBatchToSpace) {
		margins = ir.ParamCrops
	}
	b, ok := ir.ArgInts(c.op, ir.ParamBlockShape)
	p, ok2 := ir.ArgInts(c.op, margins)
	if !ok || !ok2 || len(b) != 2 || len(p) != 4 {
		c.Fail("block_shape or %s is computed", margins)
	}
	s := x.Type.Shape
	if margins == ir.ParamPaddings {
		x = c.Pad(x, p)
		c.shaped(c.arranged(x, []int64{s[0], s[1], out[2], b[0], out[3], b[1]}, 2, []int{3, 5, 0, 1, 2, 4}, 1))
		return
	}
	n := s[0] / (b[0] * b[1])
	y := c.arranged(x, []int64{b[0], b[1], n, s[1], s[2], s[3]}, 1, []int{2, 3, 4, 0, 5, 1}, 2)
	y = c.Reshape(y, n, s[1], s[2]*b[0], s[3]*b[1])
	c.become(c.cut(c.cut(y, 2, p[0], out[2]), 3, p[2], out[3]))
}

// An order is a sequence of factors of a tensor's dimensions; the last few of them are its last dimension. Dividing and
// merging the other dimensions moves nothing.
type order struct {
	of   []int
	tail int // factors of the last dimension
}

// A transposition is the groups of factors that it moves together, in their order before it, and the
// permutation of the groups.
type transposition struct {
	groups [][]int
	perm   []int
	to     order
}

// arranged returns x, seen as factors (the last tail of them are its last dimension), in another order, where the last
// newTail factors are the last dimension. The result has a dimension for each group that the last transposition moves.
// The transpositions are those that write the fewest padded bytes.
func (c *decomposer) arranged(x *ir.Value, factors []int64, tail int, to []int, newTail int) *ir.Value {
	// Factors of 1 can be anywhere, unless they are all that a last dimension has.
	keep := make([]bool, len(factors))
	for i, f := range factors {
		keep[i] = f != 1
	}
	from := make([]int, len(factors))
	for i := range from {
		from[i] = i
	}
	shorten := func(of []int, tail int) order {
		cut := len(of) - tail
		if !slices.ContainsFunc(of[cut:], func(i int) bool { return keep[i] }) {
			keep[of[len(of)-1]] = true
		}
		return order{of, tail}
	}
	src, dst := shorten(from, tail), shorten(to, newTail)
	drop := func(o order) order {
		var of []int
		tail := 0
		for i, f := range o.of {
			if keep[f] {
				of = append(of, f)
				if i >= len(o.of)-o.tail {
					tail++
				}
			}
		}
		return order{of, tail}
	}
	p := &planner{factors: factors, table: c.s.Target}
	src, dst = drop(src), drop(dst)
	ts, ok := p.shortest(src, dst)
	if !ok { // through a last dimension of 1
		n := len(factors)
		p.factors = append(slices.Clone(factors), 1)
		ts, ok = p.shortest(order{slices.Insert(src.of, 0, n), src.tail}, order{slices.Insert(dst.of, 0, n), dst.tail})
	}
	if ok {
		for _, t := range ts {
			shape, perm := make([]int64, len(t.groups)), make([]int64, len(t.perm))
			for i, g := range t.groups {
				shape[i] = p.extent(g)
			}
			for i, v := range t.perm {
				perm[i] = int64(v)
			}
			x = c.Transpose(c.Reshape(x, shape...), perm...)
		}
		return x
	}
	return c.Stop(target.Refuse(target.RuleDecomposition, "exchanged factors", factors,
		fmt.Sprintf("three transpositions of rank %d and the extents of a tensor", p.table.MaxRank),
		fmt.Sprintf("no three transpositions of rank %d exchange the factors %v", p.table.MaxRank, factors)))
}

// planner looks for transpositions.
type planner struct {
	factors []int64
	table   *target.Table
}

func (p *planner) extent(group []int) int64 {
	n := int64(1)
	for _, f := range group {
		n *= p.factors[f]
	}
	return n
}

// shortest returns the fewest transpositions from one order to another, up to three.
func (p *planner) shortest(from, to order) ([]transposition, bool) {
	for depth := 1; depth <= 3; depth++ {
		if ts, _, ok := p.plan(from, to, depth); ok {
			return ts, true
		}
	}
	return nil, false
}

// plan returns depth transpositions from one order to another, and the padded bytes that they write. The last
// transposition is the one that remains to be done.
func (p *planner) plan(from, to order, depth int) (best []transposition, bytes int64, ok bool) {
	if from.tail == to.tail && slices.Equal(from.of, to.of) {
		return nil, 0, true
	}
	if depth == 1 {
		t, bytes, ok := p.direct(from, to)
		return []transposition{t}, bytes, ok
	}
	p.each(from, func(t transposition, here int64) {
		if ok && here >= bytes {
			return
		}
		if rest, more, found := p.plan(t.to, to, depth-1); found && (!ok || here+more < bytes) {
			best, bytes, ok = append([]transposition{t}, rest...), here+more, true
		}
	})
	return best, bytes, ok
}

// direct returns the transposition from one order to another, if a single one suffices.
func (p *planner) direct(from, to order) (transposition, int64, bool) {
	k := len(from.of)
	place := make([]int, len(p.factors)) // position of each factor in to
	for i, f := range to.of {
		place[f] = i
	}
	var groups [][]int
	for i, f := range from.of {
		joins := i > 0 && i != k-from.tail && place[f] == place[from.of[i-1]]+1 && place[f] != k-to.tail
		if joins {
			g := len(groups) - 1
			groups[g] = append(groups[g], f)
		} else {
			groups = append(groups, []int{f})
		}
	}
	perm := make([]int, len(groups))
	for i := range perm {
		perm[i] = i
	}
	slices.SortFunc(perm, func(a, b int) int { return place[groups[a][0]] - place[groups[b][0]] })
	t := transposition{groups, perm, to}
	if len(groups[len(groups)-1]) != from.tail || len(groups[perm[len(perm)-1]]) != to.tail {
		return t, 0, false
	}
	bytes, ok := p.weigh(t)
	return t, bytes, ok
}

// weigh returns the padded bytes that a transposition writes, and whether the target supports its shapes.
func (p *planner) weigh(t transposition) (int64, bool) {
	if len(t.groups) > p.table.MaxRank {
		return 0, false
	}
	all := int64(1)
	for i, g := range t.groups {
		n := p.extent(g)
		all *= n
		most := int64(p.table.MaxChannels)
		if i == len(t.groups)-1 || i == t.perm[len(t.perm)-1] {
			most = int64(p.table.MaxWidth)
		}
		if n > most {
			return 0, false
		}
	}
	row := p.extent(t.groups[t.perm[len(t.perm)-1]])
	const elem, line = 2, 64
	return all / row * ((row*elem + line - 1) / line * line), true
}

// each calls f with every transposition of an order.
func (p *planner) each(from order, f func(t transposition, bytes int64)) {
	k := len(from.of)
	cut := k - from.tail
	for cuts := range 1 << max(cut-1, 0) { // bit i: a group ends after factor i
		var groups [][]int
		for i, v := range from.of[:cut] {
			if i > 0 && cuts>>(i-1)&1 == 0 {
				groups[len(groups)-1] = append(groups[len(groups)-1], v)
			} else {
				groups = append(groups, []int{v})
			}
		}
		groups = append(groups, from.of[cut:])
		if len(groups) > p.table.MaxRank || cut == 0 && cuts > 0 {
			continue
		}
		permute(len(groups), func(perm []int) {
			t := transposition{groups: groups, perm: slices.Clone(perm)}
			for _, g := range perm {
				t.to.of = append(t.to.of, groups[g]...)
			}
			t.to.tail = len(groups[perm[len(perm)-1]])
			if bytes, ok := p.weigh(t); ok && !slices.IsSorted(perm) {
				f(t, bytes)
			}
		})
	}
}

// permute calls f with the permutations of n, in lexical order.
func permute(n int, f func(perm []int)) {
	perm, used := make([]int, 0, n), make([]bool, n)
	var walk func()
	walk = func() {
		if len(perm) == n {
			f(perm)
			return
		}
		for i := range n {
			if !used[i] {
				used[i], perm = true, append(perm, i)
				walk()
				used[i], perm = false, perm[:len(perm)-1]
			}
		}
	}
	walk()
}
