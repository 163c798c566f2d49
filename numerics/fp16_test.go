package numerics

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

func TestWidenReturnsTheValueOfEveryPattern(t *testing.T) {
	for i := range 1 << 16 {
		got, want := math.Float32bits(Widen(uint16(i))), math.Float32bits(float16.Frombits(uint16(i)).Float32())
		if got != want {
			t.Fatalf("Widen(%#04x) = %#08x, want %#08x", i, got, want)
		}
	}
}

// TestNarrowRoundsMidpointsToEven checks the numbers where rounding can go wrong: every fp16 value, every midpoint
// between two, and the fp32 neighbours of both.
func TestNarrowRoundsMidpointsToEven(t *testing.T) {
	check := func(u uint32) {
		f := math.Float32frombits(u)
		if got, want := Narrow(f), float16.Fromfloat32(f).Bits(); got != want {
			t.Fatalf("Narrow(%v, bits %#08x) = %#04x, want %#04x", f, u, got, want)
		}
	}
	for i := range 1 << 16 {
		u := math.Float32bits(Widen(uint16(i)))
		next := math.Float32bits(Widen(uint16(i + 1)))
		mid := u + (next-u)/2
		for d := uint32(0); d < 5; d++ {
			check(u + d - 2)
			check(mid + d - 2)
		}
	}
	for _, f := range []float32{65519, 65519.996, 65520, 65536, math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-25,
		0x1.000002p-25, 0x1p-24, 0x1.8p-24} {
		check(math.Float32bits(f))
		check(math.Float32bits(-f))
	}
}

func TestNarrowAgreesWithFloat16OnRandomNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2_000_000 {
		u := r.Uint32()
		f := math.Float32frombits(u)
		if got, want := Narrow(f), float16.Fromfloat32(f).Bits(); got != want {
			t.Fatalf("Narrow(bits %#08x) = %#04x, want %#04x", u, got, want)
		}
	}
}

func TestBytesSurviveWideningAndNarrowing(t *testing.T) {
	src := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
	}
	mid, back := make([]float32, 1<<16), make([]byte, 2<<16)
	if n := WidenBytes(mid, src); n != 1<<16 {
		t.Fatalf("WidenBytes converted %d", n)
	}
	if n := NarrowBytes(back, mid); n != 1<<16 {
		t.Fatalf("NarrowBytes converted %d", n)
	}
	for i := range 1 << 16 {
		a, b := binary.LittleEndian.Uint16(src[2*i:]), binary.LittleEndian.Uint16(back[2*i:])
		if a != b && !(a&0x7fff > 0x7c00 && b == a|0x200) {
			t.Fatalf("%#04x came back as %#04x", a, b)
		}
	}
	if n := WidenBytes(mid[:3], src[:5]); n != 2 {
		t.Errorf("an odd byte was converted to %d elements", n)
	}
}

func TestULPIsTheDistanceOfNeighbours(t *testing.T) {
	for h := uint16(0); h < 0x7bff; h++ {
		if got, want := ULP16(Widen(h)), Widen(h+1)-Widen(h); got != want {
			t.Fatalf("ULP16(%v) = %v, want %v", Widen(h), got, want)
		}
	}
}

func BenchmarkNarrow(b *testing.B) {
	src, dst := make([]float32, 1<<16), make([]byte, 2<<16)
	for i := range src {
		src[i] = float32(i)*0.37 - 9000
	}
	b.SetBytes(int64(4 * len(src)))
	for b.Loop() {
		NarrowBytes(dst, src)
	}
}

func BenchmarkWiden(b *testing.B) {
	dst, src := make([]float32, 1<<16), make([]byte, 2<<16)
	for i := range src {
		src[i] = byte(i * 7)
	}
	b.SetBytes(int64(4 * len(dst)))
	for b.Loop() {
		WidenBytes(dst, src)
	}
}

// TestRound16IsNarrowAndWiden compares the rounding of one number with the conversion there and back: at every number
// that fp16 has, halfway to the next, beside both, and at random bits.
func TestRound16IsNarrowAndWiden(t *testing.T) {
	check := func(f float32) {
		if got, want := Round16(f), Widen(Narrow(f)); math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%g (%#08x) is rounded to %g, want %g", f, math.Float32bits(f), got, want)
		}
	}
	for h := range 1 << 16 {
		f, next := Widen(uint16(h)), Widen(uint16(h)+1)
		for _, f := range []float32{f, f + (next-f)/2} {
			b := math.Float32bits(f)
			check(f)
			check(math.Float32frombits(b + 1))
			check(math.Float32frombits(b - 1))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 20 {
		check(math.Float32frombits(r.Uint32()))
	}
}

// TestFP16RoundsOnce takes each number halfway between two of fp16 and its neighbours in float64, which rounding to
// fp32 first would make halfway too.
func TestFP16RoundsOnce(t *testing.T) {
	check := func(f, want float64) {
		for _, s := range []float64{1, -1} {
			if got := FP16(s * f); got != s*want || math.Signbit(got) != math.Signbit(s*want) {
				t.Fatalf("%g is rounded to %g, want %g", s*f, got, s*want)
			}
		}
	}
	for h := range uint16(0x7c00) {
		low, high := float64(Widen(h)), float64(Widen(h+1))
		mid := low + (min(high, 1<<16)-low)/2
		even := low
		if h%2 == 1 {
			even = high
		}
		check(low, low)
		check(mid, even)
		check(math.Nextafter(mid, 0), low)
		check(math.Nextafter(mid, math.Inf(1)), high)
	}
	check(math.SmallestNonzeroFloat64, 0)
	check(math.MaxFloat64, math.Inf(1))
	check(math.Inf(1), math.Inf(1))
	if got := FP16(math.NaN()); got == got {
		t.Errorf("NaN is rounded to %g", got)
	}
}
