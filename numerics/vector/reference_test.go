package vector_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/zinc-compiler/zinc/numerics/vector"
)

// TestProductsAgreeWithBLAS compares the sums in fp32 with a product in fp64 that another module computes, within the
// error of one rounding per term.
func TestProductsAgreeWithBLAS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, d := range [][3]int{{1, 1, 1}, {3, 5, 7}, {16, 16, 16}, {5, 33, 130}, {64, 17, 300}, {2, 100, 1}} {
		m, n, k := d[0], d[1], d[2]
		a, b := operands(r, m*k), operands(r, k*n)
		got := make([]float32, m*n)
		vector.Exact.Multiply(got, n, vector.Matrix{Data: a, Rows: m, Cols: k, RowStep: k, ColStep: 1},
			vector.Matrix{Data: b, Rows: k, Cols: n, RowStep: n, ColStep: 1})
		want, size := reference(a, b, m, n, k), reference(magnitudes(a), magnitudes(b), m, n, k)
		for i := range got {
			if bound := float64(k) * 0x1p-24 * size[i]; math.Abs(float64(got[i])-want[i]) > bound {
				t.Fatalf("%v: element %d is %g, want %g within %g", d, i, got[i], want[i], bound)
			}
		}
	}
}

// operands returns numbers that fp16 can represent.
func operands(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.IntN(4095)-2047) * float32(math.Ldexp(1, -r.IntN(12)))
	}
	return out
}

func magnitudes(v []float32) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = max(x, -x)
	}
	return out
}

func reference(a, b []float32, m, n, k int) []float64 {
	wide := func(v []float32) []float64 {
		out := make([]float64, len(v))
		for i, x := range v {
			out[i] = float64(x)
		}
		return out
	}
	c := blas64.General{Rows: m, Cols: n, Stride: n, Data: make([]float64, m*n)}
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, blas64.General{Rows: m, Cols: k, Stride: k, Data: wide(a)},
		blas64.General{Rows: k, Cols: n, Stride: n, Data: wide(b)}, 0, c)
	return c.Data
}
