package field

import (
	"slices"
	"sync"
)

const (
	// leastTerms, leastRows and leastColumns are the sizes from which a product is worth the memory of its results and
	// the time to look for them: to identify rows takes about as long as to multiply them with ten columns.
	leastTerms   = 96
	leastRows    = 16
	leastColumns = 48
	// digests is how many random sums identify a row or a column, each with coefficients of 40 bits: two that differ
	// are taken for the same with a probability of 2^-120.
	digests = 3
)

// Products remembers products of matrices. Others that have the same rows and columns are copied from them: parts of
// them, in any order, also with rows and columns exchanged. They may be used by several goroutines at once.
type Products struct {
	f    *Functions
	left int // results that may still be remembered

	mu     sync.Mutex
	random []Elem                // coefficients of digests, for each term
	known  map[digest][]*product // by column
	lists  map[digest]*vectors   // of rows, by the first
}

type digest [digests]Elem

// vectors are rows or columns, and the index of each.
type vectors struct {
	list []digest
	at   map[digest]int
}

func listed(list []digest) *vectors {
	v := &vectors{list, make(map[digest]int, len(list))}
	for i, d := range list {
		v.at[d] = i
	}
	return v
}

// run returns the indices of digests from the first on, as far as they are known.
func (v *vectors) run(list []digest) []int {
	var out []int
	for _, d := range list {
		i, ok := v.at[d]
		if !ok {
			break
		}
		out = append(out, i)
	}
	return out
}

// product has the results of rows and columns, one row after the other.
type product struct {
	rows, columns *vectors
	v             []Elem
}

// NewProducts returns memory for the given number of results.
func NewProducts(f *Functions, results int) *Products {
	return &Products{f: f, left: results, known: map[digest][]*product{}, lists: map[digest]*vectors{}}
}

// Multiply is AddMul for rows of c that are 0.
func (p *Products) Multiply(c []Elem, ldc int, w []Elem, ldw, m int, b []Elem, at []int, n int) {
	if p == nil || len(at) < leastTerms || m < leastRows || n < leastColumns {
		AddMul(c, ldc, w, ldw, m, b, at, n)
		return
	}
	rows, columns := p.identify(w, ldw, m, b, at, n)
	for i := 0; i < m; {
		high := m - i
		if known := p.part(rows[i:], columns); known != nil {
			high = len(known.rows)
		}
		for j := 0; j < n; {
			known := p.part(rows[i:i+high], columns[j:])
			if known != nil && len(known.rows) == high {
				known.copy(c[i*ldc+j:], ldc)
				j += len(known.columns)
				continue
			}
			wide := 1
			for j+wide < n && p.part(rows[i:i+1], columns[j+wide:j+wide+1]) == nil {
				wide++
			}
			AddMul(c[i*ldc+j:], ldc, w[i*ldw:], ldw, high, b[j:], at, wide)
			p.remember(c[i*ldc+j:], ldc, rows[i:i+high], columns[j:j+wide])
			j += wide
		}
		i += high
	}
}

// identify returns the digests of the rows of w and of the columns of b.
func (p *Products) identify(w []Elem, ldw, m int, b []Elem, at []int, n int) (rows, columns []digest) {
	k := len(at)
	p.mu.Lock()
	for i := len(p.random); i < k*digests; i++ {
		p.random = append(p.random, Mul(p.f.Hash(productName, Elem(i))&(1<<40-1), pow2(-24)))
	}
	random := p.random[:k*digests]
	p.mu.Unlock()
	// Digests of columns are products with rows of coefficients, those of rows with columns of them.
	turned, places := make([]Elem, len(random)), make([]int, k)
	for i, x := range random {
		turned[i%digests*k+i/digests] = x
		places[i/digests] = i / digests * digests
	}
	sums := make([]Elem, digests*n)
	AddMul(sums, n, turned, k, digests, b, at, n)
	columns = make([]digest, n)
	for i, x := range sums {
		columns[i%n][i/n] = x
	}
	sums = make([]Elem, digests*m)
	AddMul(sums, digests, w, ldw, m, random, places, digests)
	rows = make([]digest, m)
	for i, x := range sums {
		rows[i/digests][i%digests] = x
	}
	return rows, columns
}

// part is the part of a product that has the first rows and columns of another, by indices.
type part struct {
	*product
	rows, columns []int
	turned        bool // rows are columns of the product
}

// part returns nil if the first row and column are not known together.
func (p *Products) part(rows, columns []digest) *part {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.known[columns[0]] {
		if _, ok := known.rows.at[rows[0]]; ok {
			return &part{product: known, rows: known.rows.run(rows), columns: known.columns.run(columns)}
		}
	}
	for _, known := range p.known[rows[0]] {
		if _, ok := known.rows.at[columns[0]]; ok {
			return &part{product: known, rows: known.columns.run(rows), columns: known.rows.run(columns), turned: true}
		}
	}
	return nil
}

// copy writes the part to rows of c.
func (p *part) copy(c []Elem, ldc int) {
	stride := len(p.product.columns.list)
	for i, r := range p.rows {
		row := c[i*ldc:][:len(p.columns)]
		for j, k := range p.columns {
			if p.turned {
				row[j] = p.v[k*stride+r]
			} else {
				row[j] = p.v[r*stride+k]
			}
		}
	}
}

// remember keeps a product, as long as there is memory for it.
func (p *Products) remember(c []Elem, ldc int, rows, columns []digest) {
	m, n := len(rows), len(columns)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < m*n {
		return
	}
	p.left -= m * n
	list := p.lists[rows[0]]
	if list == nil || !slices.Equal(list.list, rows) {
		list = listed(rows)
		p.lists[rows[0]] = list
	}
	known := &product{list, listed(columns), make([]Elem, 0, m*n)}
	for i := range m {
		known.v = append(known.v, c[i*ldc:][:n]...)
	}
	for d := range known.columns.at {
		p.known[d] = append(p.known[d], known)
	}
}
