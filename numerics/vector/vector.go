package vector

import (
	"fmt"
	"sync"
)

// Sum is how products are added.
type Sum uint8

const (
	// Exact adds products in fp32; operands are numbers that fp16 can represent.
	Exact Sum = iota
	// Rounded rounds each product to fp32 and adds it in fp32; operands are any numbers.
	Rounded
	// Staged adds four products at a time in the narrow first stage of the engine's accumulator, as stagedRow defines
	// it; operands are normal numbers and zeros that fp16 can represent.
	//
	// A NaN result means that a product was NaN or infinite. The sum is then undefined,
	// and the caller must compute it.
	Staged
)

// Add adds a*b to c: to c[i*ldc+j], for i < m and j < n, the products a[i*lda+l] * b[at[l]+j] in the order of l. Staged
// begins a group of four at l = 0 and fills an incomplete last group with zeros.
//
// A call may continue the sums of another, for Staged after a multiple of four products.
func (s Sum) Add(c []float32, ldc int, a []float32, lda, m int, b []float32, at []int, n int) {
	k := len(at)
	if m <= 0 || n <= 0 || k == 0 {
		return
	}
	low, high := at[0], at[0]
	for _, o := range at {
		low, high = min(low, o), max(high, o)
	}
	if low < 0 || high+n > len(b) || lda < 0 || (m-1)*lda+k > len(a) || ldc < 0 || (m-1)*ldc+n > len(c) {
		panic(fmt.Sprintf("vector: %d x %d sums of %d products are out of range: %d results with rows %d apart, %d "+
			"coefficients with rows %d apart, %d numbers read from %d to %d", m, n, k, len(c), ldc, len(a), lda, len(b),
			low, high+n))
	}
	inUse.add(s, c, ldc, a, lda, m, b, at, n)
}

// Reach is how many numbers Add may read after the last one that it needs. It copies all columns that are too few for
// a whole tile where the operand has no more.
const Reach = 48

// Matrix is a view of numbers: the one at row i and column j is
// Data[i*RowStep+j*ColStep].
type Matrix struct {
	Data             []float32
	Rows, Cols       int
	RowStep, ColStep int
}

func (m Matrix) transposed() Matrix {
	return Matrix{Data: m.Data, Rows: m.Cols, Cols: m.Rows, RowStep: m.ColStep, ColStep: m.RowStep}
}

const (
	// blockRows is the number of rows of coefficients copied at a time if they are not
	// contiguous.
	blockRows = 64
	// narrowColumns is the largest number of columns for which it is faster to put the
	// rows of a result side by side.
	narrowColumns = 7
	// fewRows is the largest number of rows of coefficients for which copying the other
	// operand is not worthwhile.
	fewRows = 4
)

// Multiply adds a*b to c, whose rows are ldc numbers apart.
func (s Sum) Multiply(c []float32, ldc int, a, b Matrix) {
	m, k, n := a.Rows, a.Cols, b.Cols
	if m <= 0 || k <= 0 || n <= 0 {
		return
	}
	if n <= narrowColumns && m > n {
		t := take(m * n)
		defer give(t)
		Matrix{Data: c, Rows: n, Cols: m, RowStep: 1, ColStep: ldc}.Copy(t.v, m)
		s.multiply(t.v, m, b.transposed(), a.transposed())
		Matrix{Data: t.v, Rows: m, Cols: n, RowStep: 1, ColStep: m}.Copy(c, ldc)
		return
	}
	s.multiply(c, ldc, a, b)
}

func (s Sum) multiply(c []float32, ldc int, a, b Matrix) {
	m, k, n, columns, products := a.Rows, a.Cols, b.Cols, inUse.columns, inUse.products
	if a.ColStep != 1 {
		t := take(min(m, blockRows) * k)
		defer give(t)
		for i := 0; i < m; i += blockRows {
			part := a
			part.Data, part.Rows = a.Data[i*a.RowStep:], min(blockRows, m-i)
			part.Copy(t.v, k)
			s.multiply(c[i*ldc:], ldc, Matrix{Data: t.v, Rows: part.Rows, Cols: k, RowStep: k, ColStep: 1}, b)
		}
		return
	}
	t := take(min(k, products) * columns)
	defer give(t)
	at := t.positions(min(k, products))
	if b.ColStep == 1 && m <= fewRows {
		for l := 0; l < k; l += products {
			at := at[:min(products, k-l)]
			for i := range at {
				at[i] = (l + i) * b.RowStep
			}
			s.Add(c, ldc, a.Data[l:], a.RowStep, m, b.Data, at, n)
		}
		return
	}
	for l := 0; l < k; l += products {
		at := at[:min(products, k-l)]
		for j := 0; j < n; j += columns {
			part := Matrix{
				Data:    b.Data[l*b.RowStep+j*b.ColStep:],
				Rows:    len(at),
				Cols:    min(columns, n-j),
				RowStep: b.RowStep,
				ColStep: b.ColStep,
			}
			for i := range at {
				at[i] = i * part.Cols
			}
			part.Copy(t.v, part.Cols)
			s.Add(c[j:], ldc, a.Data[l:], a.RowStep, m, t.v, at, part.Cols)
		}
	}
}

// Copy writes a matrix row by row; the rows of dst are ld numbers apart.
func (m Matrix) Copy(dst []float32, ld int) {
	if m.ColStep == 1 {
		for i := range m.Rows {
			copy(dst[i*ld:][:m.Cols], m.Data[i*m.RowStep:])
		}
		return
	}
	done := 0
	if m.RowStep == 1 {
		done = transpose(dst, ld, m)
	}
	// Both are read and written in squares that fit in the first-level cache.
	const side = 16
	for i := 0; i < m.Rows; i += side {
		for j := done; j < m.Cols; j += side {
			for y := i; y < min(i+side, m.Rows); y++ {
				row := dst[y*ld+j:][:min(side, m.Cols-j)]
				from := m.Data[y*m.RowStep+j*m.ColStep:]
				for x := range row {
					row[x] = from[x*m.ColStep]
				}
			}
		}
	}
}

// scratch is reused memory; its contents are undefined.
type scratch struct {
	v  []float32
	at []int
}

// positions returns memory for n positions.
func (s *scratch) positions(n int) []int {
	if cap(s.at) < n {
		s.at = make([]int, n)
	}
	return s.at[:n]
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

func take(n int) *scratch {
	s := pool.Get().(*scratch)
	if cap(s.v) < n {
		s.v = make([]float32, n)
	}
	s.v = s.v[:n]
	return s
}

func give(s *scratch) { pool.Put(s) }

// Widen converts packed little-endian fp16 and returns the number of elements converted: the smaller of len(dst) and
// len(src)/2. A signalling NaN becomes a quiet one.
func Widen(dst []float32, src []byte) int {
	n := min(len(dst), len(src)/2)
	widen(dst[:n], src[:2*n])
	return n
}

// Narrow rounds to packed little-endian fp16, to nearest, ties to even, and returns the number of elements converted:
// the smaller of len(src) and len(dst)/2. A NaN stays a quiet one with the top of its payload.
func Narrow(dst []byte, src []float32) int {
	n := min(len(src), len(dst)/2)
	narrow(dst[:2*n], src[:n])
	return n
}

// Scale multiplies packed little-endian fp16 by a factor that fp16 can represent, rounds each product once, to nearest,
// ties to even, and returns the number of elements: the smaller of len(dst)/2 and len(src)/2. Every NaN becomes the
// positive quiet one without a payload.
func Scale(dst, src []byte, factor float32) int {
	n := min(len(dst), len(src)) / 2
	scale(dst[:2*n], src[:2*n], factor)
	return n
}

// adder adds products with the instructions of some processors.
type adder struct {
	name string
	// add is Add, for operands that were checked.
	add func(s Sum, c []float32, ldc int, a []float32, lda, m int, b []float32, at []int, n int)
	// columns is the number of columns of its widest kernel, and products the number of products, a multiple of four,
	// added to all rows of so many columns before the next ones, so that their operands stay in the L1 cache.
	columns, products int
}

// adders are those that this processor can run, and inUse is the fastest.
var (
	adders = []adder{{name: "portable", add: addPortable, columns: 24, products: 256}}
	inUse  = adders[0]
)

// The other kernels in use: the portable ones, except where a platform has others.
var (
	transpose  = transposePortable
	widen      = widenPortable
	narrow     = narrowPortable
	scale      = scalePortable
	interleave = interleavePortable
)
