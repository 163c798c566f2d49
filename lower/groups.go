package lower

import (
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Products of several pairs of live matrices are two tasks where a task multiplies them as groups: a planar copy writes
// the rows of all kernels, maxGroupLanes of them side by side, then one task multiplies, which reads the blocks of each
// group's kernel one after the other (recorded on h14 for 375 rows of 128 terms, eight pairs with 375 columns and four
// with 749; other shapes are modelled).

// maxGroupLanes is the largest number of rows of a kernel that are side by side.
const maxGroupLanes = 8

// matrixGroups are several pairs of matrices, and their products: [N, M, K], [N, K, W] and [N, M, W].
type matrixGroups struct {
	x, y, dst *view
	kernel    *kernelRows // of x, if it is in the kernel's order already
	lanes     int64
}

// asGroups returns the matrices of a dynamic matmul as groups, or nil if one task does not multiply all of them.
func (b *builder) asGroups(x, y, dst *view) *matrixGroups {
	n := leading(dst)
	if !b.t.GroupsMatrices || n == 1 || n > int64(b.t.MaxGroups) || len(x.dims) < 3 || len(y.dims) < 3 ||
		leading(x) != n || leading(y) != n || y.pix != 0 || dst.pix != 0 || max(x.inter, y.inter, dst.inter) > 1 {
		return nil
	}
	rows, terms, columns := dst.dims[len(dst.dims)-2], x.w(), dst.w()
	g := &matrixGroups{
		x: x.reshape([]int64{n, rows, terms}), y: y.reshape([]int64{n, terms, columns}),
		dst: dst.reshape([]int64{n, rows, columns}),
	}
	if g.x == nil || g.y == nil || g.dst == nil {
		return nil
	}
	for g.lanes = 1; g.lanes < maxGroupLanes && rows > b.t.Cores*g.lanes; {
		g.lanes *= 2
	}
	part, per := align(g.lanes*terms*elemBytes, 64), b.t.Cores*g.lanes
	budget := b.t.L2Bytes - l2Reserve
	if b.columnsInL2(terms, columns, b.t.WorkUnit) < columns || (rows+per-1)/per*part > b.kernelPart(columns) ||
		rows*align(terms*elemBytes, b.t.L2Granule) > budget || g.lanes == 1 && x.pix != 0 {
		return nil
	}
	if kr, ok := b.kernels[x.buf]; ok {
		if kr.pieces > 0 || kr.matrix != g.x.stride[0] || x.off != 0 || rows != per || kr.size != part {
			return nil
		}
		kr.group = kr.size
		g.kernel = &kr
	}
	if !g.fit(b.t) {
		return nil
	}
	return g
}

// fit reports whether the sources of the two tasks fit in L2: the second matrices, and the first ones where they are
// copied. Both tasks read those of all groups.
func (g *matrixGroups) fit(t *target.Table) bool {
	bytes := func(s *view, most int64) int64 {
		return s.dims[0] * s.dims[1] * align(min(s.dims[2], most)*elemBytes, t.L2Granule)
	}
	most := bytes(g.y, t.WorkUnit)
	if g.kernel == nil && g.lanes > 1 {
		most = max(most, bytes(g.x, widePatch))
	}
	return most <= t.L2Bytes-l2Reserve
}

// multiplyGroups emits the tasks of a product of groups. It calls ready before it reads y.
func (b *builder) multiplyGroups(g *matrixGroups, e *epilogue, ready func()) {
	from := len(b.drafts)
	if g.kernel == nil {
		g.kernel = b.stageGroups(g)
	}
	ready()
	d := e.multiply()
	d.cores = 1 << log2up(min((g.dst.dims[1]+g.lanes-1)/g.lanes, b.t.Cores))
	d.kernel = &kernelUse{rows: g.kernel, ocgSize: log2up(g.lanes)}
	b.emit(d, groupsOperand(g.y), nil, groupsOperand(g.dst), 0)
	b.categorise(min(from, len(b.drafts)), g.dst.w())
}

// stageGroups returns the place of the kernels, into which it copies them if their rows are not one after the other.
func (b *builder) stageGroups(g *matrixGroups) *kernelRows {
	n, rows, terms := g.x.dims[0], g.x.dims[1], g.x.dims[2]
	if g.lanes == 1 {
		return &kernelRows{buf: g.x.buf, off: g.x.off, step: g.x.stride[1], size: align(terms*elemBytes, 64),
			group: g.x.stride[0]}
	}
	step := align(g.lanes*terms*elemBytes, 64)
	kernel := (rows + g.lanes - 1) / g.lanes * step
	to := &view{buf: &buffer{space: scratch, size: n * kernel, def: -1}, dims: g.x.dims,
		stride: []int64{kernel, step, elemBytes}, inter: g.lanes}
	b.emit(planar(td.PlanarOne), groupsOperand(g.x), nil, groupsOperand(to), 0)
	return &kernelRows{buf: to.buf, step: step, size: step, group: kernel}
}

// groupsOperand reads matrices [N, C, W] as groups of rows as channels.
func groupsOperand(s *view) *operand {
	return &operand{
		buf: s.buf, off: s.off, pix: s.pix, inter: s.inter,
		ext:    [5]int64{s.dims[0], 1, s.dims[1], 1, s.dims[2]},
		stride: [4]int64{s.stride[0], s.stride[0], s.stride[1], s.stride[0]},
	}
}
