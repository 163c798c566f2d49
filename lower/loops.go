package lower

import (
	"fmt"

	"github.com/zinc-compiler/zinc/target"
)

// nest is a set of equally shaped loops over several tensors: the outer
// dimensions with each tensor's byte stride, and the row.
type nest struct {
	dims      []int64   // outer extents, slow to fast
	stride    [][]int64 // by tensor, one a dimension; 0 where the tensor is broadcast
	off       []int64   // by tensor: byte offset in its buffer
	w         int64     // elements of a row
	broadcast []bool    // by tensor: a single element is repeated along the row
	surfs     []*view
}

// newNest broadcasts tensors against the dimensions of the result, which is
// surfs[len-1].
func newNest(surfs ...*view) (*nest, error) {
	dst := surfs[len(surfs)-1]
	rank := len(dst.dims)
	n := emptyNest(len(surfs), rank-1)
	n.w, n.surfs = dst.w(), surfs
	copy(n.dims, dst.dims)
	for k, s := range surfs {
		if len(s.dims) > rank {
			r := s.reshape(dst.dims)
			if r == nil {
				return nil, fmt.Errorf("operand of shape %v of a result of lower rank, %v", s.dims, dst.dims)
			}
			s = r
		}
		s = s.withLeadingOnes(rank)
		st := n.stride[k]
		for i := range st {
			switch {
			case s.dims[i] == n.dims[i] && n.dims[i] != 1:
				st[i] = s.stride[i]
			case s.dims[i] != 1:
				return nil, fmt.Errorf("operand of shape %v does not broadcast to %v", s.dims, dst.dims)
			}
		}
		if s.w() != n.w && s.w() != 1 {
			return nil, fmt.Errorf("operand of shape %v does not broadcast to %v", s.dims, dst.dims)
		}
		n.off[k], n.broadcast[k] = s.off, s.w() != n.w
	}
	return n, nil
}

// emptyNest returns loops over a number of tensors, whose extents, strides and offsets are 0 and in one slice.
func emptyNest(tensors, loops int) *nest {
	ints := make([]int64, (tensors+1)*loops+tensors)
	take := func(n int) []int64 {
		part := ints[:n:n]
		ints = ints[n:]
		return part
	}
	n := &nest{
		dims: take(loops), off: take(tensors), stride: make([][]int64, tensors), broadcast: make([]bool, tensors),
	}
	for k := range n.stride {
		n.stride[k] = take(loops)
	}
	return n
}

// drop removes loops of one iteration.
func (n *nest) drop() {
	for i := len(n.dims) - 1; i >= 0; i-- {
		if n.dims[i] == 1 {
			n.remove(i)
		}
	}
}

func (n *nest) remove(i int) {
	n.dims = append(append([]int64(nil), n.dims[:i]...), n.dims[i+1:]...)
	for k, st := range n.stride {
		n.stride[k] = append(append([]int64(nil), st[:i]...), st[i+1:]...)
	}
}

// merge merges adjacent loops over which every tensor is contiguous.
func (n *nest) merge() {
	n.drop()
	for i := len(n.dims) - 2; i >= 0; i-- {
		ok := true
		for _, st := range n.stride {
			ok = ok && st[i] == st[i+1]*n.dims[i+1]
		}
		if ok {
			n.dims[i+1] *= n.dims[i]
			n.remove(i)
		}
	}
}

// clone returns an independent copy.
func (n *nest) clone() *nest {
	c := emptyNest(len(n.surfs), len(n.dims))
	c.w, c.surfs = n.w, n.surfs
	copy(c.dims, n.dims)
	copy(c.off, n.off)
	copy(c.broadcast, n.broadcast)
	for k, st := range n.stride {
		copy(c.stride[k], st)
	}
	return c
}

// window narrows loop i to count iterations from first.
func (n *nest) window(i int, first, count int64) *nest {
	c := n.clone()
	c.dims[i] = count
	for k := range c.off {
		c.off[k] += first * n.stride[k][i]
	}
	return c
}

// walk calls emit for pieces of the nest that a task can run: at most four
// outer loops, the last of them the rows, within the field widths, and with at
// least one row of every source in L2 at once. free is the L2 budget in bytes.
func (n *nest) walk(b *builder, sources int, emit func(p *nest, tile int64)) {
	free := b.t.L2Bytes - l2Reserve
	if natural := n.clone(); len(natural.dims) <= 4 && natural.fits(b, sources, free) {
		emit(natural, natural.tile(b.t, sources, free))
		return
	}
	m := n.clone()
	m.merge()
	m.split(b, sources, free, emit)
}

// maxRowPad is the maximum padding that l2Layout adds to a row.
func maxRowPad(t *target.Table) int64 { return 3 * t.L2Granule }

// rowBytes returns the bytes of L2 that one row of all sources takes.
func (n *nest) rowBytes(t *target.Table, sources int) int64 {
	bytes := int64(0)
	for k := range sources {
		w := min(n.w, widePatch) // as l2Layout has it; neural work counts its own rows
		if n.broadcast[k] {
			w = 1
		}
		bytes += align(w*elemBytes, 16)
	}
	for i, d := range n.dims {
		if i < len(n.dims)-1 {
			bytes *= d
		}
	}
	return bytes + int64(sources)*maxRowPad(t)
}

func (n *nest) rows() int64 {
	if len(n.dims) == 0 {
		return 1
	}
	return n.dims[len(n.dims)-1]
}

// tile returns the rows that fit the budget, 0 for all.
func (n *nest) tile(t *target.Table, sources int, free int64) int64 {
	rows := free / max(n.rowBytes(t, sources), 1)
	if rows >= n.rows() {
		return 0
	}
	return rows
}

// fits reports whether one task can run the nest.
func (n *nest) fits(b *builder, sources int, free int64) bool {
	k := len(n.dims)
	limit := [4]int64{int64(b.t.MaxGroups), 1<<16 - 1, int64(b.t.MaxChannels), int64(b.t.MaxHeight)}
	for i, d := range n.dims {
		if d > limit[4-k+i] {
			return false
		}
	}
	return n.rowBytes(b.t, sources) <= free
}

// split divides loops until the pieces fit.
func (n *nest) split(b *builder, sources int, free int64, emit func(p *nest, tile int64)) {
	if b.full() {
		return
	}
	if len(n.dims) > 4 {
		for i := range n.dims[0] {
			p := n.window(0, i, 1)
			p.remove(0)
			p.split(b, sources, free, emit)
		}
		return
	}
	if n.fits(b, sources, free) {
		emit(n, n.tile(b.t, sources, free))
		return
	}
	// Halve the slowest loop that has more than one iteration.
	for i, d := range n.dims {
		if d > 1 {
			n.window(i, 0, d/2).split(b, sources, free, emit)
			n.window(i, d/2, d-d/2).split(b, sources, free, emit)
			return
		}
	}
	b.fail("row of %d elements and %d sources does not fit %d bytes of L2", n.w, sources, free)
}

// columns narrows the row to count elements from first, a multiple of what 64
// bytes hold.
func (n *nest) columns(first, count int64) *nest {
	c := n.clone()
	c.w = count
	for k := range c.off {
		if !c.broadcast[k] {
			c.off[k] += first * c.surfs[k].buf.elemBytes()
		}
	}
	return c
}

func (b *builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// operand returns tensor k of a piece as a task's operand.
func (n *nest) operand(k int) *operand {
	s := n.surfs[k]
	o := &operand{buf: s.buf, off: n.off[k], pix: s.pix}
	o.ext = [5]int64{1, 1, 1, 1, n.w}
	o.broadcast[axW] = n.broadcast[k]
	full := n.rowStride(k)
	for i := range 4 {
		o.stride[i] = full
	}
	for i, d := range n.dims {
		ax := 4 - len(n.dims) + i
		o.ext[ax], o.stride[ax] = d, n.stride[k][i]
		o.broadcast[ax] = d > 1 && n.stride[k][i] == 0
	}
	// The stride of a loop of one iteration, or of an axis that a flag broadcasts, is the size of what is below it.
	// Groups have no flag.
	turns := func(i int) int64 {
		if o.broadcast[i] {
			return 1
		}
		return o.ext[i]
	}
	for i := 3; i >= 0; i-- {
		if turns(i) == 1 && (i != axG || o.ext[axG] == 1) {
			o.stride[i] = full
			if i < 3 {
				o.stride[i] = max(turns(i+1)*o.stride[i+1], full)
			}
		}
	}
	o.flat = o.broadcast
	o.broadcast[axG] = false
	return o
}

func (n *nest) rowStride(k int) int64 {
	w := n.w
	if n.broadcast[k] {
		w = 1
	}
	return align(w*n.surfs[k].buf.elemBytes(), 64)
}
