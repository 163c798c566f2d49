package verify

import (
	"bytes"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
)

func TestRandomHasTheDistributionOfItsType(t *testing.T) {
	for _, d := range []ir.DType{ir.FP16, ir.FP32, ir.FP64, ir.BF16} {
		x, err := Random(ir.TensorOf(d, 10000), "x", 1)
		if err != nil {
			t.Fatal(err)
		}
		sum, square := 0.0, 0.0
		for _, v := range x.Floats32() {
			sum += float64(v)
			square += float64(v) * float64(v)
		}
		// Five deviations of a mean and of a variance of 10000 numbers.
		if mean, variance := sum/10000, square/10000; math.Abs(mean) > 0.05 || math.Abs(variance-1) > 0.08 {
			t.Errorf("%s: mean %g, variance %g, want 0 and 1", d, mean, variance)
		}
	}
	for _, c := range []struct {
		d   ir.DType
		top int64
	}{{ir.Int32, 3}, {ir.UInt8, 3}, {ir.Int64, 3}, {ir.Bool, 1}, {ir.UInt1, 1}} {
		x, err := Random(ir.TensorOf(c.d, 1000), "x", 1)
		if err != nil {
			t.Fatal(err)
		}
		count := map[int64]int{}
		for _, v := range x.Ints() {
			count[v]++
		}
		for v := range c.top + 1 {
			if count[v] < 150 {
				t.Errorf("%s: %d comes %d times in 1000", c.d, v, count[v])
			}
		}
		if len(count) != int(c.top)+1 {
			t.Errorf("%s: values %v", c.d, count)
		}
	}
}

// TestRandomDependsOnSeedNameAndPosition checks that nothing else affects the values.
func TestRandomDependsOnSeedNameAndPosition(t *testing.T) {
	of := func(name string, seed uint64, n int64) []float32 {
		x, err := Random(ir.TensorOf(ir.FP32, n), name, seed)
		if err != nil {
			t.Fatal(err)
		}
		return x.Floats32()
	}
	a := of("x", 1, 4)
	for i, v := range of("x", 1, 8)[:4] {
		if v != a[i] {
			t.Errorf("element %d is %g and %g", i, a[i], v)
		}
	}
	if b, c := of("y", 1, 4), of("x", 2, 4); a[0] == b[0] || a[0] == c[0] {
		t.Errorf("another name or seed gives the same values: %v, %v, %v", a, b, c)
	}
	for _, bad := range []ir.Type{ir.TensorOf(ir.FP32, ir.Unknown), ir.TensorOf(ir.String, 2),
		ir.TensorOf(ir.FP8E4M3, 2), {Kind: ir.State, DType: ir.FP32}} {
		if _, err := Random(bad, "x", 1); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// TestRandomIsBounded checks that sizes are refused before any value is generated.
func TestRandomIsBounded(t *testing.T) {
	for _, typ := range []ir.Type{
		ir.TensorOf(ir.Int32, 1<<31-1), ir.TensorOf(ir.FP16, 1<<31-1, 1<<31-1, 1<<31-1), ir.TensorOf(ir.UInt1, 1<<36),
	} {
		if _, err := Random(typ, "x", 1); err == nil || !strings.Contains(err.Error(), "3758096384 bytes") {
			t.Errorf("%s: error %v", typ, err)
		}
	}
	b := Budget{bytes: e5.MaxBytes - 15}
	if _, err := b.Random(ir.TensorOf(ir.FP16, 4), "x", 1); err != nil {
		t.Error(err)
	}
	if _, err := b.Random(ir.TensorOf(ir.FP16, 4), "y", 1); err == nil ||
		!strings.Contains(err.Error(), "exceed the limit of 8589934592 bytes") {
		t.Errorf("the second tensor: %v", err)
	}
}

// TestRandomInPieces checks that a tensor generated in pieces has the values of one
// generated at once.
func TestRandomInPieces(t *testing.T) {
	const n = 2*randomPiece + 7
	for _, d := range []ir.DType{ir.FP16, ir.Int32, ir.UInt1, ir.Int4} {
		x, err := Random(ir.TensorOf(d, n), "x", 1)
		if err != nil {
			t.Fatal(err)
		}
		seed := fnv.New64a()
		seed.Write([]byte("x"))
		want, err := randomValues(rand.New(rand.NewPCG(1, seed.Sum64())), d, n)
		if err != nil || !bytes.Equal(x.Data, want.Data) {
			t.Errorf("%s: the values in pieces differ; %v", d, err)
		}
	}
}
