package engine

import "github.com/zinc-compiler/zinc/lower/td"

// arithmetic is the arithmetic of tasks, and the memory that contains its numbers. The machine decides what a task
// reads, in which order it computes and where it writes.
type arithmetic[T, R any] interface {
	// window returns bytes first to first+n of the buffer of a register.
	window(mem Memory, stream string, bar int, first, n int64, write bool) (place, error)
	// onchip returns bytes first to first+n of L2.
	onchip(first, n int64) place
	// values returns the numbers of all fp16 patterns, as products take them if mac is set.
	values(mac bool) *[65536]T
	// readFP16 reads fp16 numbers that are step bytes apart, starting at byte from, as products take them if mac is
	// set.
	readFP16(dst []T, p place, from, step int, mac bool)
	// transpose writes src, with rows of cols numbers, to dst by columns, ld numbers apart.
	transpose(dst []T, ld int, src []T, cols int)
	// load reads a tensor in the order group, depth, channel, row, column; store writes one.
	load(run *run, t *tile, mac bool, out []T) error
	store(run *run, t *tile, vals []R) error
	// copyRows copies the elements of src to the same positions of dst, unchanged.
	copyRows(dst, src *tile)
	// spoil makes n bytes of L2 undefined.
	spoil(at, n int64)
	// clamp replaces negative numbers by zero.
	clamp(v []T)
	// channels sets dst to the sum or the maximum of n planes of src, which are plane elements apart. dst is no longer
	// than channelPiece.
	channels(dst, src []T, plane, n int, maximum bool)
	// begin fills the sums of a result channel with what they begin at, and returns the bias that is left for a poster.
	begin(c []T, bias T) T
	// multiply adds w*b to what begin left in c. add does the same as vector.Sum.Add does.
	multiply(c []T, w, b matrix[T])
	add(c []T, ldc int, w []T, ldw, m int, b []T, at []int, cols int)
	// post returns the arithmetic between the accumulator and the result. multi reports that products of several taps
	// or channels are added.
	post(t *td.Task, l *lut, multi bool) poster[T, R]
	elementwise(t *td.Task) rows[T]
	final(t *td.Task) finish[T, R]
	// fold returns a reduction of the planar engine, for one goroutine.
	fold(mode td.Pool, fin finish[T, R]) folder[T, R]
}

// channelPiece is the number of elements of a plane for which channels sums at a time.
const channelPiece = 1 << 10

// poster finishes a row of sums of one result channel. It may overwrite the sums.
type poster[T, R any] interface {
	row(out []R, acc []T, bias T)
}

// rows computes len(v) elements before any reduction; ops are slices, of length one if the operand has a single value
// for the row. The first may be v if it is as long.
type rows[T any] interface {
	row(v []T, ops [3][]T, n int)
}

// finish is the arithmetic after elementwise work; a folder includes that after a reduction.
type finish[T, R any] interface {
	elements(out []R, v []T)
}

// folder reduces numbers to one.
type folder[T, R any] interface {
	reset()
	add(v []T)
	value() R
}

// load reads a tensor, with its numbers as products take them if mac is set.
func (x *exec[T, R]) load(t *tile, mac bool) ([]T, error) {
	out := x.numbers(int(t.dim.count()))
	return out, x.num.load(&x.run, t, mac, out)
}
