package irgen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// Limits of the products that are reshaped.
const (
	maxRows, maxColumns = 20, 256
	maxShapeRank        = 4
	maxTerms            = 8
	perProgram          = 4
)

// mixed returns element i of a fixed order of n things in which neighbours are far apart.
func mixed(i, n int) int { return i % n * math.MaxInt32 % n } // a prime

// known contains the shapes for each number of elements.
var known sync.Map

// shapes returns the shapes of n elements, of up to maxShapeRank dimensions.
func shapes(n int64) [][]int64 {
	if all, ok := known.Load(n); ok {
		return all.([][]int64)
	}
	ds := divisors(n)
	var all [][]int64
	var extend func(s []int64, n int64)
	extend = func(s []int64, n int64) {
		s = s[:len(s):len(s)]
		all = append(all, append(s, n))
		if len(s) == maxShapeRank-1 {
			return
		}
		for _, d := range ds {
			if n%d == 0 {
				extend(append(s, d), n/d)
			}
		}
	}
	extend(nil, n)
	known.Store(n, all)
	return all
}

// productsBefore returns, for each product, the number of reshapes of all products that come before it (fewer columns,
// or as many columns and fewer rows), and the total number.
var productsBefore = sync.OnceValues(func() (before []int, all int) {
	for k := range maxRows * maxColumns {
		before = append(before, all)
		all += len(shapes(rowsOf(k) * columnsOf(k)))
	}
	return before, all
})

func rowsOf(k int) int64    { return int64(k%maxRows + 1) }
func columnsOf(k int) int64 { return int64(k/maxRows + 1) }

// ProductPrograms is the number of programs of Products.
func ProductPrograms() int {
	_, all := productsBefore()
	return (all + perProgram - 1) / perProgram
}

// Products returns program i of those that reshape the result of a product of up to 20 rows by 256 columns in any way
// to one to four dimensions. A program has several independent products, so that they share the fixed cost of a
// program.
func Products(i int) *Program {
	before, all := productsBefore()
	g := irbuild.New(uint64(i))
	r := rand.New(rand.NewPCG(uint64(i), 4))
	weight := func(int64) float64 { return float64(r.IntN(9) - 4) }
	var names []string
	for j := i * perProgram; j < min((i+1)*perProgram, all); j++ {
		at := mixed(j, all)
		k := sort.SearchInts(before, at+1) - 1
		rows, columns := rowsOf(k), columnsOf(k)
		terms := 1 + r.Int64N(maxTerms)
		if i%2 == 0 {
			terms = min(terms, max(256/columns, 1)) // no weight file
		}
		x := g.Input(rows, terms)
		var y *ir.Value
		switch r.IntN(3) {
		case 0:
			y = g.Op("linear", "x", x, "weight", g.Filled(ir.FP16, weight, columns, terms))
		case 1:
			bias := g.Filled(ir.FP16, weight, columns)
			y = g.Op("linear", "x", x, "weight", g.Filled(ir.FP16, weight, columns, terms), "bias", bias)
		case 2:
			y = g.Op("matmul", "x", x, "y", g.Filled(ir.FP16, weight, terms, columns))
		}
		g.Output(g.Op("reshape", "x", y, "shape", shapes(rows * columns)[at-before[k]]))
		names = append(names, fmt.Sprintf("%s of %d rows by %d columns", y.Def.Def.Name, rows, columns))
	}
	return &Program{IR: g.Program(), Steps: strings.Join(names, ", "), Exact: true, Top: 8}
}
