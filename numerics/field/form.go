package field

import "sync/atomic"

const (
	// formBlock is the number of terms that have coefficients of their own; the next block has the same, so a sum may
	// be cut between blocks and blocks may be exchanged.
	formBlock = 128
	// formRank is the rank of the form of a block. The kernel has so many rows at least.
	formRank = 4
	// leastTerms is from how many terms on a sum of products is replaced. It depends on nothing else, since both sides
	// must replace the same sums.
	leastTerms = 64
)

// Form is a random symmetric bilinear form that stands for the sum of products of two vectors. In each block of terms
// it is the sum of formRank products, each of one random combination of the block's terms of one vector and the same
// combination of the other's.
//
// Programs that are equal with sums of products can differ with forms: if terms are in another order, if a sum is cut
// inside a block, and if (AB)C is computed as A(BC). Programs that are equal with forms are equal with sums, as far as
// their difference has no more than formRank factors that are forms: a polynomial that vanishes on the symmetric
// matrices of rank r is in the ideal of their minors of degree r+1 (De Concini and Procesi, 1976). docs/prove.md says
// what holds beyond.
type Form struct {
	rows       []Elem // of formRank rows of coefficients
	transposed []Elem // the same, of formBlock rows
	used       atomic.Bool
	spare      Memory
}

// NewForm returns the form of a key.
func NewForm(f *Functions) *Form {
	s := &Form{rows: make([]Elem, formRank*formBlock), transposed: make([]Elem, formRank*formBlock)}
	for i := range s.rows {
		// A number of fp16 times 2^24 has 40 bits. As rows, such numbers take half the time of others.
		x := Mul(f.Hash(formName, Elem(i))&(1<<40-1), pow2(-24))
		s.rows[i] = x
		s.transposed[i%formBlock*formRank+i/formBlock] = x
	}
	return s
}

// Used reports whether a sum of products has been replaced.
func (s *Form) Used() bool { return s != nil && s.used.Load() }

// Replaces reports whether sums of k products are replaced. A nil form replaces none.
func (s *Form) Replaces(k int) bool { return s != nil && k >= leastTerms }

// Terms returns the number of combinations of k elements.
func (s *Form) Terms(k int) int { return (k + formBlock - 1) / formBlock * formRank }

// Rows writes the combinations of m rows of k elements, which begin every ldw elements, over zeros.
func (s *Form) Rows(out, w []Elem, ldw, m, k int) {
	s.used.Store(true)
	var at [formBlock]int
	for l := range at {
		at[l] = l * formRank
	}
	terms := s.Terms(k)
	for first := 0; first < k; first += formBlock {
		AddMul(out[first/formBlock*formRank:], terms, w[first:], ldw, m, s.transposed, at[:min(formBlock, k-first)],
			formRank)
	}
}

// Columns writes the combinations of n columns over zeros. The columns of one term begin every ldo elements. Element l
// of column j is b[at[l]+j].
func (s *Form) Columns(out []Elem, ldo int, b []Elem, at []int, n int) {
	s.used.Store(true)
	for first := 0; first < len(at); first += formBlock {
		AddMul(out[first/formBlock*formRank*ldo:], ldo, s.rows, formBlock, formRank, b,
			at[first:min(first+formBlock, len(at))], n)
	}
}

// AddMul is the function AddMul with sums of products replaced.
func (s *Form) AddMul(c []Elem, ldc int, w []Elem, ldw, m int, b []Elem, at []int, n int) {
	k := len(at)
	if !s.Replaces(k) {
		AddMul(c, ldc, w, ldw, m, b, at, n)
		return
	}
	terms := s.Terms(k)
	own, combined := s.spare.Zeros(terms*(m+n)), make([]int, terms)
	defer s.spare.Give(own)
	rows, columns := own[:terms*m], own[terms*m:]
	s.Rows(rows, w, ldw, m, k)
	s.Columns(columns, n, b, at, n)
	for t := range combined {
		combined[t] = t * n
	}
	AddMul(c, ldc, rows, terms, m, columns, combined, n)
}
