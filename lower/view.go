package lower

import (
	"github.com/zinc-compiler/zinc/ir"
)

const elemBytes = 2 // fp16

// space is the memory that a buffer is in.
type space uint8

const (
	inPort space = iota
	outPort
	scratch
	constant
)

// buffer is one window or part of a window that tasks address.
type buffer struct {
	space     space
	layout    layout // how the elements are arranged
	size      int64
	narrow    bool    // elements are single bytes, uint8: the ports of booleans and integers
	mask      bool    // made from booleans, as factors 0 and 1
	bar       int     // buffer-access register, set by the planner
	off       int64   // byte offset in that register's window, set by the planner (constants: by the section)
	extent    int64   // of a constant: the place in the section
	def, last int     // first and last task that touches it
	writer    *draft  // the last task so far that writes it, nil for none
	backed    bool    // has a place in scratch also when it stays in L2, and tasks name it (keepScratch)
	spacing   spacing // of its rows in L2
	group     int64   // rows after which rows and groups in L2 are padded, 0 for none
	image     *image  // as which it may be stored in L2 (asImage), or nil
	rowBytes  int64   // of a tensor's buffer: bytes from row to row, else 0
	rowElems  int64   // of a tensor's buffer: elements of a row
}

// rowsOfOne reports whether the rows of the buffer have one element each.
func (b *buffer) rowsOfOne() bool { return b.rowElems == 1 }

// view is a strided window of a buffer: the place of one tensor. The last dimension is contiguous; stride[i] is in
// bytes for every other dimension.
type view struct {
	buf    *buffer
	off    int64 // bytes, a multiple of 64
	pix    int64 // elements by which rows start after off; nonzero only for a source
	dims   []int64
	stride []int64 // stride[len-1] is elemBytes
	// inter is the number of channels side by side in a row of an image [1, C, H, W] or of a matrix [C, W], which the
	// stride of the channels covers; 0 for one.
	inter int64
	// whole is the number of bytes of the tensor that the view is one matrix of, 0 for a matrix of its own.
	whole int64
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// rowBytes returns the bytes of a row of w elements in a buffer of its own.
func rowBytes(w int64) int64 { return align(w*elemBytes, 64) }

// elemBytes returns the bytes of an element.
func (b *buffer) elemBytes() int64 {
	if b.narrow {
		return 1
	}
	return elemBytes
}

// canonicalStrides returns the strides of a tensor in a buffer of its own, and the size of that buffer.
func canonicalStrides(dims []int64) (stride []int64, size int64) { return stridesOf(dims, elemBytes) }

// stridesOf is like canonicalStrides for elements of elem bytes.
func stridesOf(dims []int64, elem int64) (stride []int64, size int64) {
	stride = make([]int64, len(dims))
	n := len(dims) - 1
	stride[n] = elem
	size = align(dims[n]*elem, 64)
	for i := n - 1; i >= 0; i-- {
		stride[i] = size
		size *= dims[i]
	}
	return stride, size
}

// tensorDims returns a value's dimensions, at least one.
func tensorDims(t ir.Type) []int64 {
	if len(t.Shape) == 0 {
		return []int64{1}
	}
	return append([]int64(nil), t.Shape...)
}

// inBuffer returns the canonical view of a tensor at the start of buf.
func inBuffer(buf *buffer, dims []int64) *view {
	st, _ := stridesOf(dims, buf.elemBytes())
	return &view{buf: buf, dims: dims, stride: st}
}

func (s *view) w() int64 { return s.dims[len(s.dims)-1] }

func (s *view) elems() int64 {
	n := int64(1)
	for _, d := range s.dims {
		n *= d
	}
	return n
}

// isCanonical reports whether the view has the layout of a buffer of its own.
func (s *view) isCanonical() bool {
	if s.pix != 0 {
		return false
	}
	st, _ := canonicalStrides(s.dims)
	for i, d := range s.dims {
		if d > 1 && s.stride[i] != st[i] {
			return false
		}
	}
	return true
}

// slice narrows dimension i to n elements from begin on, step apart; a step other than one requires a dimension other
// than the last.
func (s *view) slice(i int, begin, n, step int64) *view {
	v := s.clone()
	v.dims[i] = n
	if i < len(s.dims)-1 {
		v.off += begin * s.stride[i]
		v.stride[i] *= step
		return v
	}
	column := max(s.inter, 1) * elemBytes
	at := s.pix + begin
	v.off += at * column / 64 * 64
	v.pix = at % (64 / column)
	return v
}

func (s *view) clone() *view {
	v, n := *s, len(s.dims)
	extents := make([]int64, 2*n)
	v.dims, v.stride = extents[:n:n], extents[n:]
	copy(v.dims, s.dims)
	copy(v.stride, s.stride)
	return &v
}

// permute reorders dimensions; the last must stay last.
func (s *view) permute(perm []int) *view {
	v := s.clone()
	for i, p := range perm {
		v.dims[i], v.stride[i] = s.dims[p], s.stride[p]
	}
	return v
}

// reshape returns the same bytes with other dimensions, or nil if they would have to move.
func (s *view) reshape(dims []int64) *view {
	// Work on factors (extent, stride) from the slow end, skipping extents of one.
	var src [][2]int64
	for i, d := range s.dims {
		if d != 1 {
			src = append(src, [2]int64{d, s.stride[i]})
		}
	}
	v := &view{
		buf:    s.buf,
		off:    s.off,
		pix:    s.pix,
		dims:   append([]int64(nil), dims...),
		stride: make([]int64, len(dims)),
	}
	j := len(src) - 1
	for i := len(dims) - 1; i >= 0; {
		if dims[i] == 1 {
			i--
			continue
		}
		if j < 0 {
			return nil
		}
		// Take source dimensions until they cover dims[i], merging where contiguous.
		have, st := src[j][0], src[j][1]
		j--
		for have < dims[i] {
			if j < 0 || src[j][1] != have*st {
				return nil
			}
			have *= src[j][0]
			j--
		}
		// Split among the target dimensions what was merged.
		for have > 1 && i >= 0 {
			for have%dims[i] != 0 {
				if j < 0 || src[j][1] != have*st {
					return nil
				}
				have *= src[j][0]
				j--
			}
			v.stride[i] = st
			st *= dims[i]
			have /= dims[i]
			i--
		}
		if have != 1 {
			return nil
		}
	}
	if j >= 0 {
		return nil
	}
	// Strides of extents of one are free; use the strides of a plain layout.
	next := int64(elemBytes)
	n := len(dims) - 1
	for i := n; i >= 0; i-- {
		if dims[i] == 1 {
			if i < n {
				next = align(next, 64)
			}
			v.stride[i] = next
		}
		next = v.stride[i] * dims[i]
	}
	if dims[n] != 1 && v.stride[n] != elemBytes {
		return nil
	}
	v.stride[n] = elemBytes
	if dims[n] == 1 && v.pix != 0 && s.w() != 1 {
		return nil
	}
	for i := range n {
		if v.stride[i]%64 != 0 {
			if dims[i] == 1 {
				v.stride[i] = align(v.stride[i], 64)
				continue
			}
			return nil
		}
	}
	return v
}

// withLeadingOnes returns the view with its rank raised to n.
func (s *view) withLeadingOnes(n int) *view {
	if len(s.dims) >= n {
		return s
	}
	v := *s
	k := n - len(s.dims)
	lead := s.stride[0] * s.dims[0]
	v.dims, v.stride = make([]int64, 0, n), make([]int64, 0, n)
	for range k {
		v.dims, v.stride = append(v.dims, 1), append(v.stride, align(lead, 64))
	}
	v.dims, v.stride = append(v.dims, s.dims...), append(v.stride, s.stride...)
	return &v
}
