package numerics

import (
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestExp64IsWithinOneUnit compares with a sum of the series in 200 bits.
func TestExp64IsWithinOneUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	worst := 0.0
	for range 20000 {
		x := -r.Float64() * 700
		switch r.IntN(3) {
		case 0:
			x = (r.Float64() - 0.5) * 40
		case 1:
			x = math.Ldexp(r.Float64()-0.5, -r.IntN(60))
		}
		got, want := Exp64(x), series(x)
		unit := math.Nextafter(got, math.Inf(1)) - got
		diff, _ := new(big.Float).Sub(want, big.NewFloat(got)).Float64()
		worst = max(worst, math.Abs(diff)/unit)
	}
	if worst > 1 {
		t.Errorf("the largest error is %g units in the last place", worst)
	}
}

// series is e^x: (e^(x/1024))^1024, by squaring ten times.
func series(x float64) *big.Float {
	const bits = 200
	part := new(big.Float).SetPrec(bits).SetMantExp(big.NewFloat(x), -10)
	sum, term := new(big.Float).SetPrec(bits).SetInt64(1), new(big.Float).SetPrec(bits).SetInt64(1)
	for n := int64(1); n < 50; n++ {
		term.Mul(term, part)
		term.Quo(term, new(big.Float).SetInt64(n))
		sum.Add(sum, term)
	}
	for range 10 {
		sum.Mul(sum, sum)
	}
	return sum
}

func TestExp64OfSpecialNumbers(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range [][2]float64{{0, 1}, {math.Copysign(0, -1), 1}, {inf, inf}, {-inf, 0}, {1000, inf}, {-1000, 0}} {
		if got := Exp64(c[0]); got != c[1] {
			t.Errorf("Exp64(%g) = %g, want %g", c[0], got, c[1])
		}
	}
	if got := Exp64(math.NaN()); got == got {
		t.Errorf("Exp64(NaN) = %g", got)
	}
	for x := -745.0; x < -690; x += 0.25 { // across the border to subnormal results
		if got, want := Exp64(x), math.Exp(x); math.Abs(got-want) > 1e-15*want+5e-324 {
			t.Errorf("Exp64(%g) = %g, want %g", x, got, want)
		}
	}
}

// TestExp64OnEveryPlatform records the bits of many results.
func TestExp64OnEveryPlatform(t *testing.T) {
	h := fnv.New64a()
	for i := range 100000 {
		bits := math.Float64bits(Exp64(float64(i-80000) / 128))
		h.Write([]byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
	}
	if got := h.Sum64(); got != 0x5d997ce6441dba63 {
		t.Errorf("the results have the hash %#x", got)
	}
}

func BenchmarkExp(b *testing.B) {
	for _, f := range []struct {
		name string
		f    func(float64) float64
	}{{"math", math.Exp}, {"Exp64", Exp64}} {
		b.Run(f.name, func(b *testing.B) {
			sum, x := 0.0, 0.0
			for range b.N {
				sum += f.f(x)
				if x -= 0.37; x < -20 {
					x = 0
				}
			}
			sink = sum
		})
	}
}

var sink float64
