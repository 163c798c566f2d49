package vector

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// hasF16C is the bit of features.
const hasF16C = 1 << 29

// Accelerated reports whether the processor has the instructions that the assembly uses.
var Accelerated = cpu.X86.HasAVX2 && cpu.X86.HasFMA && features()&hasF16C != 0

func init() {
	if !Accelerated {
		return
	}
	transpose, widen, narrow = transposeAVX2, widenAVX2, narrowAVX2
	scale, interleave = scaleAVX2, interleaveAVX2
	adders = append(adders, adder{name: "AVX2", add: avx2.add, columns: 24, products: 256})
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		adders = append(adders, adder{name: "AVX-512", add: avx512.add, columns: 48, products: 128})
	}
	inUse = adders[len(adders)-1]
}

// kernels use one set of instructions each, the widest first.
type kernels []width

// width are the kernels for a number of columns.
type width struct {
	columns int
	tiles   [2][]tile // by Sum, the one of most rows first; the last has one
	staged  func(c, a, b *float32, at *int, groups int)
}

type tile struct {
	rows int
	run  func(c *float32, ldc uintptr, a *float32, lda uintptr, b *float32, at *int, k int)
}

var (
	avx2 = kernels{
		{24, [2][]tile{{{4, exact4x24}, {1, exact1x24}}, {{4, rounded4x24}, {1, rounded1x24}}}, staged1x24},
		{16, [2][]tile{{{4, exact4x16}, {1, exact1x16}}, {{4, rounded4x16}, {1, rounded1x16}}}, staged1x16},
		{8, [2][]tile{{{4, exact4x8}, {1, exact1x8}}, {{4, rounded4x8}, {1, rounded1x8}}}, staged1x8},
	}
	avx512 = kernels{
		{48, [2][]tile{{{8, exact8x48z}, {1, exact1x48z}}, {{8, rounded8x48z}, {1, rounded1x48z}}}, staged1x48z},
		{32, [2][]tile{{{8, exact8x32z}, {1, exact1x32z}}, {{8, rounded8x32z}, {1, rounded1x32z}}}, staged1x32z},
		{16, [2][]tile{{{8, exact8x16z}, {1, exact1x16z}}, {{8, rounded8x16z}, {1, rounded1x16z}}}, staged1x16z},
		avx2[2],
	}
)

// add is Add, for operands that were checked.
func (k kernels) add(s Sum, c []float32, ldc int, a []float32, lda, m int, b []float32, at []int, n int) {
	var tail stagedTail
	if s == Staged {
		tail.init(at)
	}
	j := 0
	for i := range k {
		// The narrowest tile that has room for the last columns computes them alone: narrower ones do not keep the
		// multipliers busy.
		for j+k[i].columns <= n && (i == 0 || n-j == k[i].columns) {
			k[i].add(s, c[j:], ldc, a, lda, m, b[j:], at, &tail)
			j += k[i].columns
		}
	}
	if j == n {
		return
	}
	last := len(k) - 1
	for k[last].columns < n-j {
		last--
	}
	width := k[last].columns
	// The last columns are copied, so that whole registers can be written, and read where the numbers end.
	t := take((len(at) + m) * width)
	defer give(t)
	sums := t.v[:m*width]
	for i := range m {
		clear(sums[i*width:][copy(sums[i*width:], c[i*ldc+j:i*ldc+n]):width])
	}
	numbers := b[j:]
	if slices.Max(at)+width > len(numbers) {
		numbers = t.v[m*width:]
		packed := t.positions(len(at))
		for l, o := range at {
			packed[l] = l * width
			clear(numbers[l*width:][copy(numbers[l*width:], b[o+j:o+n]):width])
		}
		at = packed
		if s == Staged {
			tail.init(at)
		}
	}
	k[last].add(s, sums, width, a, lda, m, numbers, at, &tail)
	for i := range m {
		copy(c[i*ldc+j:i*ldc+n], sums[i*width:])
	}
}

// stagedTail is a last group of fewer than four products.
type stagedTail struct {
	n  int // products
	at [4]int
	a  [4]float32 // of the current row, then zeros
}

func (t *stagedTail) init(at []int) {
	t.n = len(at) % 4
	for i := range t.at {
		t.at[i] = at[min(len(at)-t.n+i, len(at)-1)]
	}
}

// add adds to all rows of as many columns.
func (w *width) add(s Sum, c []float32, ldc int, a []float32, lda, m int, b []float32, at []int, t *stagedTail) {
	if s == Staged {
		for i := range m {
			row := a[i*lda:][:len(at)]
			if groups := len(at) / 4; groups > 0 {
				w.staged(&c[i*ldc], &row[0], &b[0], &at[0], groups)
			}
			if t.n > 0 {
				copy(t.a[:], row[len(at)-t.n:])
				w.staged(&c[i*ldc], &t.a[0], &b[0], &t.at[0], 1)
			}
		}
		return
	}
	const size = unsafe.Sizeof(c[0])
	i := 0
	for _, k := range w.tiles[s] {
		for ; i+k.rows <= m; i += k.rows {
			k.run(&c[i*ldc], uintptr(ldc)*size, &a[i*lda], uintptr(lda)*size, &b[0], &at[0], len(at))
		}
	}
}

func widenAVX2(dst []float32, src []byte) {
	n := len(dst) &^ 7
	if n > 0 {
		widen8(&dst[0], &src[0], n/8)
	}
	widenPortable(dst[n:], src[2*n:])
}

func narrowAVX2(dst []byte, src []float32) {
	n := len(src) &^ 7
	if n > 0 {
		narrow8(&dst[0], &src[0], n/8)
	}
	narrowPortable(dst[2*n:], src[n:])
}

func scaleAVX2(dst, src []byte, factor float32) {
	n := len(src) / 2 &^ 7
	if n > 0 {
		scale8(&dst[0], &src[0], factor, n/8)
	}
	scalePortable(dst[2*n:], src[2*n:], factor)
}

// interleaveAVX2 writes the columns of eight rows that fill squares of sixteen, and returns their number.
func interleaveAVX2(dst []byte, db int, src []byte, rb, n int) int {
	n &^= 15
	if n == 0 {
		return 0
	}
	_, _ = src[7*rb+2*n-1], dst[(n-1)*db+15]
	interleave8(&dst[0], uintptr(db), &src[0], uintptr(rb), n/16)
	return n
}

// transposeAVX2 copies the columns that fill squares of eight, and the rows below the last square.
func transposeAVX2(dst []float32, ld int, src Matrix) int {
	const size = unsafe.Sizeof(dst[0])
	rows, cols := src.Rows&^7, src.Cols&^7
	if rows == 0 {
		return 0
	}
	for j := 0; j < cols; j += 8 {
		from := src.Data[j*src.ColStep:]
		_, _ = from[rows-1+7*src.ColStep], dst[(rows-1)*ld+j+7]
		transpose8(&dst[j], uintptr(ld)*size, &from[0], uintptr(src.ColStep)*size, rows/8)
		for x := range 8 {
			for y := rows; y < src.Rows; y++ {
				dst[y*ld+j+x] = from[y+x*src.ColStep]
			}
		}
	}
	return cols
}
