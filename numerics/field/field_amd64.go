package field

import (
	"sync"

	"golang.org/x/sys/cpu"
)

//go:generate go run -C ../vector/internal/asm ./field

var (
	accelerated = cpu.X86.HasBMI2
	// limbs says that the processor multiplies integers of 52 bits, eight at a time.
	limbs = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512IFMA
)

// addStrip adds to a row the sums of the products with the columns of a strip.
func addStrip(c, w []Elem, strip *[stripTerms * stripColumns]Elem) {
	var sums [stripColumns]uint64
	for j := 0; j < len(c); j += stripColumns / 2 {
		sums4(&sums[j], (*uint64)(&w[0]), (*uint64)(&strip[j]), len(w))
	}
	for j := range c {
		c[j] = Add(c[j], reduced(sums[j]))
	}
}

// A tile of products has so many rows and columns. A block of rows of coefficients, of at most stripTerms terms, stays
// in the second cache; the kernel has its rows tileRow numbers apart.
const (
	tileRows  = 4
	blockRows = 64
	tileRow   = stripTerms + 16
)

// tiles is memory for a block of coefficients and for the columns of one tile.
type tiles struct {
	w    [blockRows * tileRow]uint64
	b    [(stripTerms + 2) * stripColumns]uint64
	rest [tileRows * stripColumns]uint64
}

var spare = sync.Pool{New: func() any { return new(tiles) }}

// addTiles is AddMul with the kernel for integers of 52 bits. The coefficients of a block are either all numbers of
// fp16, which are integers below 2^40 in magnitude if they are multiplied by 2^24, or they are elements in two parts,
// the upper one multiplied by the column times 2^31.
func addTiles(c []Elem, ldc int, w []Elem, ldw, m int, b []Elem, at []int, n int) {
	for _, o := range at {
		_ = b[o : o+n]
	}
	s := spare.Get().(*tiles)
	defer spare.Put(s)
	for row := 0; row < m; row += blockRows {
		rows := min(blockRows, m-row)
		for first := 0; first < len(at); {
			places := at[first:min(first+stripTerms, len(at))]
			ws := w[row*ldw+first:]
			whole := s.halves(ws, ldw, rows, len(places))
			if !whole {
				places = places[:min(stripTerms/2, len(places))]
				s.parts(ws, ldw, rows, len(places))
			}
			for from := 0; from < n; from += stripColumns {
				mask := uint32(1)<<min(stripColumns, n-from) - 1
				s.add(c[row*ldc+from:], ldc, rows, s.columns(b[from:], places, mask, whole), mask)
			}
			first += len(places)
		}
	}
}

// halves prepares a block of coefficients if they are numbers of fp16. Each is increased by 2^40, and a coefficient of
// one follows them.
func (s *tiles) halves(w []Elem, ldw, rows, n int) bool {
	for i := range rows {
		if halves(&s.w[i*tileRow], (*uint64)(&w[i*ldw]), n, 1<<(n%8)-1) != 0 {
			return false
		}
		s.w[i*tileRow+n] = 1
	}
	return true
}

// parts prepares a block of coefficients in two parts.
func (s *tiles) parts(w []Elem, ldw, rows, n int) {
	for i := range rows {
		row := (*uint64)(&w[i*ldw])
		parts(&s.w[i*tileRow], row, n, 0, 1<<(n%8)-1)
		parts(&s.w[i*tileRow+n], row, n, 31, 1<<(n%8)-1)
	}
}

// columns prepares the columns of a tile and returns the number of its terms.
func (s *tiles) columns(b []Elem, at []int, mask uint32, whole bool) int {
	n, from := len(at), (*uint64)(&b[0])
	if !whole {
		rotate(&s.b[0], from, &at[0], n, 0, mask)
		rotate(&s.b[n*stripColumns], from, &at[0], n, 31, mask)
		return 2 * n
	}
	rotate(&s.b[0], from, &at[0], n, 61-24, mask)
	sums := s.b[n*stripColumns:][:stripColumns]
	for j, x := range sums { // what the increase of the coefficients adds
		sums[j] = uint64(Neg(Elem(x<<40&P | x>>21)))
	}
	return n + 1
}

// add adds the products of a block with the columns of a tile.
func (s *tiles) add(c []Elem, ldc, rows, terms int, mask uint32) {
	i := 0
	for ; i+tileRows <= rows; i += tileRows {
		tile((*uint64)(&c[i*ldc]), ldc, &s.w[i*tileRow], &s.b[0], terms, mask)
	}
	if i == rows {
		return
	}
	clear(s.rest[:])
	tile(&s.rest[0], stripColumns, &s.w[i*tileRow], &s.b[0], terms, mask)
	for ; i < rows; i++ {
		for j, x := range s.rest[i%tileRows*stripColumns:][:stripColumns] {
			if mask>>j&1 != 0 {
				c[i*ldc+j] = Add(c[i*ldc+j], Elem(x))
			}
		}
	}
}

// rowKernel is a kernel of rows.
type rowKernel func(v, b *uint64, n, step int, mask uint32)

func (k rowKernel) run(v, b []Elem) {
	var same [stripColumns]uint64
	from, step := (*uint64)(&b[0]), stripColumns
	if len(b) == 1 {
		for i := range same {
			same[i] = uint64(b[0])
		}
		from, step = &same[0], 0
	}
	k((*uint64)(&v[0]), from, len(v), step, 1<<(len(v)%8)-1)
}

func (f *Functions) hashRow(name uint64, v []Elem) {
	hashRow((*uint64)(&v[0]), &f.keys, name*f.keys[0], len(v), 1<<(len(v)%8)-1)
}

// scrambled returns the sum of permuted elements, or false if one must be permuted again.
func (f *Functions) scrambled(v []Elem) (sum Elem, ok bool) {
	var sums [stripColumns]uint64
	again := scrambled((*uint64)(&v[0]), &f.keys, &sums, len(v), 1<<(len(v)%8)-1)
	for _, x := range sums {
		sum = Add(sum, reduced(x))
	}
	return sum, again == 0
}
