package numerics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/numerics/vector"
)

var (
	posInf  = float32(math.Inf(1))
	negInf  = float32(math.Inf(-1))
	nan     = float32(math.NaN())
	negZero = float32(math.Copysign(0, -1))
)

// same compares bits, so that the sign of zero counts.
func same(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

func TestInReadsNaNAsInfinityAndDropsTheSignOfZero(t *testing.T) {
	if got := In(nan); got != posInf {
		t.Errorf("NaN is read as %v, want +inf", got)
	}
	if got := In(negZero); !same(got, 0) {
		t.Errorf("-0 is read as %v with sign", got)
	}
	if got := In(-3); got != -3 {
		t.Errorf("-3 is read as %v", got)
	}
}

func TestOutputsAreNeverNaN(t *testing.T) {
	for what, v := range map[string]float32{"inf-inf": posInf - posInf, "0*inf": 0 * posInf} {
		if got := Out(v); !same(got, 0) {
			t.Errorf("%s gives %v, want +0", what, got)
		}
	}
}

func TestOutputsDropTheSignOfZero(t *testing.T) {
	if got := Out(negZero); !same(got, 0) {
		t.Errorf("-0 leaves as %v with sign", got)
	}
	if got := Out(-1e-9); !same(got, 0) {
		t.Errorf("a negative that rounds to zero leaves as %v with sign", got)
	}
	if got := Inverse(negZero); got != posInf {
		t.Errorf("1/-0 = %v, want +inf", got)
	}
	if got := Rsqrt(negZero); got != posInf {
		t.Errorf("rsqrt(-0) = %v, want +inf", got)
	}
}

func TestRootsOfNegativesAreZero(t *testing.T) {
	for what, got := range map[string]float32{"sqrt(-1)": Sqrt(-1), "rsqrt(-1)": Rsqrt(-1), "log(-1)": Log(-1)} {
		if !same(got, 0) {
			t.Errorf("%s = %v, want +0", what, got)
		}
	}
}

func TestLogOfZeroIsTheMeasuredNumber(t *testing.T) {
	if Log(0) != -45440 || Log(negZero) != -45440 {
		t.Errorf("log(+0) = %v, log(-0) = %v, want -45440", Log(0), Log(negZero))
	}
	if got := Narrow(-45440); Widen(got) != -45440 {
		t.Errorf("-45440 is not an fp16 value")
	}
}

// TestExpIsInfiniteFromItsLimitOn: 11.094 is 11.09375 in fp16, and the value below it is finite.
func TestExpIsInfiniteFromItsLimitOn(t *testing.T) {
	if got := Exp(Round16(11.094)); got != posInf {
		t.Errorf("exp(11.094) = %v, want +inf", got)
	}
	if got := Exp(11.0859375); math.IsInf(float64(got), 0) {
		t.Errorf("exp(11.0859375) = %v, want a number", got)
	}
}

func TestMagnitudesFromTheMACLimitOnAreInfinite(t *testing.T) {
	for _, tt := range []struct{ in, mac, elem float32 }{
		{32752, 32752, 32752}, {32768, posInf, 32768}, {-32768, negInf, -32768}, {65504, posInf, 65504},
		{65520, posInf, posInf},
		{32760, posInf, 32768}, // rounds to even first
	} {
		if got := OutMAC(tt.in); got != tt.mac {
			t.Errorf("OutMAC(%v) = %v, want %v", tt.in, got, tt.mac)
		}
		if got := Out(tt.in); got != tt.elem {
			t.Errorf("Out(%v) = %v, want %v", tt.in, got, tt.elem)
		}
	}
}

func TestOnlyMultiplyAccumulatesFlushSubnormals(t *testing.T) {
	sub := float32(0x1p-20)
	if Out(sub) != sub || In(sub) != sub {
		t.Error("elementwise paths must keep subnormals")
	}
	if MACIn(sub) != 0 || MACIn(-sub) != 0 {
		t.Error("the multiply-accumulate must flush subnormals")
	}
	if MACIn(MinNormalFP16) != MinNormalFP16 {
		t.Error("the smallest normal must pass")
	}
}

func TestWidthSlicesOverflowFromTheirLimitOn(t *testing.T) {
	if WidthSlice(4094) != 4094 || WidthSlice(Round16(4095)) != posInf || WidthSlice(-4096) != negInf {
		t.Errorf("4094 -> %v, 4095 -> %v, -4096 -> %v", WidthSlice(4094), WidthSlice(Round16(4095)), WidthSlice(-4096))
	}
}

func TestActivationsOfInfinityAreAsMeasured(t *testing.T) {
	if Softplus(posInf) != 0 || Softsign(posInf) != 0 {
		t.Errorf("softplus(inf) = %v, softsign(inf) = %v, want 0", Softplus(posInf), Softsign(posInf))
	}
	if Softplus(0) != Round16(math.Ln2) || Softsign(1) != 0.5 {
		t.Errorf("softplus(0) = %v, softsign(1) = %v", Softplus(0), Softsign(1))
	}
}

// TestSmallTermsSurviveBesideLargeOnesAsMeasured checks the measured sweep: how many of sixteen ones survive next to
// (B, -B).
func TestSmallTermsSurviveBesideLargeOnesAsMeasured(t *testing.T) {
	for b, want := range map[float32]float32{1024: 16, 3000: 16, 4090: 16, 4096: 4, 8000: 4, 16000: 4, 30000: 4} {
		var acc Accumulator
		for range 16 {
			acc.Add(b, 1)
			acc.Add(-b, 1)
			acc.Add(1, 1)
		}
		if got := OutMAC(acc.Sum()); got != want {
			t.Errorf("B = %v: %v ones survive, want %v", b, got, want)
		}
	}
}

func TestLongSumsLoseWhatWasMeasured(t *testing.T) {
	var acc Accumulator
	acc.Add(4096, 1)
	for range 1024 {
		acc.Add(1, 1)
	}
	if got := OutMAC(acc.Sum()); got != 5116 {
		t.Errorf("4096 and 1024 ones give %v, want 5116", got)
	}
}

func TestAccumulatorOfInfinities(t *testing.T) {
	var acc Accumulator
	acc.Add(0, posInf)
	acc.Add(2, 3)
	if got := acc.Sum(); got != 6 {
		t.Errorf("0*inf + 6 = %v, want 6", got)
	}
	acc = Accumulator{}
	acc.Add(posInf, 1)
	acc.Add(negInf, 1)
	if got := OutMAC(acc.Sum()); !same(got, 0) {
		t.Errorf("inf - inf = %v, want +0", got)
	}
}

// TestAccumulatorStaysWithinItsBound checks that the model stays within the strict bound of sums of products.
func TestAccumulatorStaysWithinItsBound(t *testing.T) {
	seed := uint64(1)
	next := func() float32 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return Round16(float32(int64(seed)>>40) / (1 << 22))
	}
	for _, k := range []int{4, 64, 384, 1536} {
		worst := 0.0
		for range 200 {
			var acc Accumulator
			exact, magnitudes := 0.0, 0.0
			for range k {
				x, y := next(), next()
				acc.Add(x, y)
				p := float64(x) * float64(y)
				exact += p
				magnitudes += math.Abs(p)
			}
			d := math.Abs(float64(OutMAC(acc.Sum())) - float64(Round16(float32(exact))))
			bound := GroupError*magnitudes + float64(ULP16(float32(exact)))
			if r := d / bound; r > worst {
				worst = r
			}
		}
		t.Logf("k = %d: worst %.2f of the bound", k, worst)
		if worst > 1 {
			t.Errorf("k = %d: the model leaves the bound, factor %.2f", k, worst)
		}
	}
}

func TestModesParseTheirNames(t *testing.T) {
	for _, m := range []Mode{IEEE, ANE} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v comes back as %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("fast"); err == nil {
		t.Error("an unknown mode was accepted")
	}
}

// TestStagedKernelsAgreeWithTheAccumulator compares the vector kernels with the accumulator, which shares no code with
// them, on operands of any size, of similar size, and with cancellation and ties.
func TestStagedKernelsAgreeWithTheAccumulator(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for trial := range 4000 {
		k, n := 1+r.IntN(30), 1+r.IntN(20)
		a, b := make([]float32, k), make([]float32, k*n)
		number := func() float32 {
			switch trial % 3 {
			case 0:
				return MACIn(Widen(uint16(r.IntN(0x7c00)) | uint16(r.IntN(2))<<15))
			case 1:
				return Round16(float32(r.NormFloat64() * 100))
			}
			return float32(math.Ldexp(float64(r.IntN(7)-3), r.IntN(14)))
		}
		at := make([]int, k)
		for l := range k {
			a[l], at[l] = number(), l*n
			for j := range n {
				b[l*n+j] = number()
			}
		}
		got := make([]float32, n)
		vector.Staged.Add(got, n, a, k, 1, b, at, n)
		for j, g := range got {
			var acc Accumulator
			for l := range k {
				acc.Add(a[l], b[l*n+j])
			}
			if want := acc.Sum(); g != want {
				t.Fatalf("trial %d, sum %d of %d products: %x, want %x", trial, j, k, g, want)
			}
		}
	}
}
