package lower

import "github.com/zinc-compiler/zinc/ir"

// Store is where a task stores its result, in a buffer as planned, before it is known whether the buffer stays in L2.
// It links the elements that a task computes to the elements of a value. Buffers are numbered in the procedure.
type Store struct {
	Task   int
	Buffer int
	off    int64
	stride [4]int64 // of group, depth, channel and row
	inter  int64
	elem   int64 // bytes of an element
	swap   bool
}

// At returns the byte offset in the buffer of an element of the task's result.
func (s *Store) At(g, d, c, h, w int) int64 {
	if s.swap {
		c, w = w, c
	}
	return s.off + int64(g)*s.stride[axG] + int64(d)*s.stride[axD] + int64(c)/s.inter*s.stride[axC] +
		int64(h)*s.stride[axH] + int64(c)%s.inter*s.elem + int64(w)*s.inter*s.elem
}

// Rows calls f for every row of a task's result of these extents, with its first element and that element's byte offset
// in the buffer; its n elements are step bytes apart.
func (s *Store) Rows(extent [5]int, f func(element, n int, at, step int64)) {
	i := 0
	for g := range extent[0] {
		for d := range extent[1] {
			for c := range extent[2] {
				for h := range extent[3] {
					if !s.swap {
						f(i, extent[4], s.At(g, d, c, h, 0), s.inter*s.elem)
						i += extent[4]
						continue
					}
					for w := range extent[4] { // along channels of the buffer
						f(i, 1, s.At(g, d, c, h, w), s.elem)
						i++
					}
				}
			}
		}
	}
}

// Materialised is where a value that tasks compute is in its buffer.
type Materialised struct {
	Value  *ir.Value
	Buffer int
	view   *view
}

// Room returns the bytes of the buffer that the value needs, from the buffer's first byte on.
func (m *Materialised) Room() int64 {
	s := m.view
	inter, elem := max(s.inter, 1), s.buf.elemBytes()
	n, last := len(s.dims), s.off+s.pix*elem
	for axis, d := range s.dims {
		switch {
		case d == 0:
			return 0
		case axis == n-1:
			last += (d - 1) * inter * elem
		case inter > 1 && axis == n-3:
			last += (d-1)/inter*s.stride[axis] + (inter-1)*elem
		default:
			last += (d - 1) * s.stride[axis]
		}
	}
	return last + elem
}

// Rows calls f for every row of the value, in row-major order, with its first element and that element's byte offset in
// the buffer; its n elements are step bytes apart.
func (m *Materialised) Rows(f func(element, n int, at, step int64)) {
	s := m.view
	inter, elem := max(s.inter, 1), s.buf.elemBytes()
	n, i := len(s.dims), 0
	var walk func(axis int, at int64)
	walk = func(axis int, at int64) {
		if axis == n-1 {
			f(i, int(s.dims[axis]), at, inter*elem)
			i += int(s.dims[axis])
			return
		}
		for k := range s.dims[axis] {
			if inter > 1 && axis == n-3 {
				walk(axis+1, at+k/inter*s.stride[axis]+k%inter*elem)
				continue
			}
			walk(axis+1, at+k*s.stride[axis])
		}
	}
	walk(0, s.off+s.pix*elem)
}

// materialised returns the stores of the tasks, and the values of the segment that are in buffers which tasks write, in
// the order of their operations. A result that is copied to its port is listed there as well. A value that its reader
// clamps is not stored.
func (b *builder) materialised(seg *Segment) (stores []Store, values []Materialised) {
	number := map[*buffer]int{}
	for i, d := range b.drafts {
		o := &d.dst
		n, ok := number[o.buf]
		if !ok {
			n = len(number)
			number[o.buf] = n
		}
		stores = append(stores, Store{
			Task:   i,
			Buffer: n,
			off:    o.off,
			stride: o.stride,
			inter:  max(o.inter, 1),
			elem:   o.buf.elemBytes(),
			swap:   o.swap,
		})
	}
	for _, op := range seg.Ops {
		for _, v := range op.Results {
			s := b.vals[v]
			if s == nil || b.clamped[v] {
				continue
			}
			if n, ok := number[s.buf]; ok {
				values = append(values, Materialised{v, n, s})
			}
			port := b.outs[v]
			if n, ok := number[port]; ok && port != s.buf {
				values = append(values, Materialised{v, n, inBuffer(port, tensorDims(v.Type))})
			}
		}
	}
	return stores, values
}
