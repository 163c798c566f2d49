package passes

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// TestRowLoses compares rows with sums over the numbers in them, at all positions in a group of four, and with as much
// lost as may be.
func TestRowLoses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	patterns := []uint16{0, 0x8000, 1, 0x3ff, 0x83ff, 0x400, 0x8400, 0x3c00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00}
	value := func(b []byte) float64 {
		return math.Abs(float64(float16.Frombits(binary.LittleEndian.Uint16(b)).Float32()))
	}
	sums := func(w, scaled []byte, factor float64) bool {
		lost, kept := 0.0, 0.0
		for i := 0; i < len(w); i += 2 {
			switch x, y := value(w[i:]), value(scaled[i:]); {
			case y > largestFP16 && x <= largestFP16:
				return true
			case y >= leastMagnitude || y != y:
				kept += y
			case x >= leastMagnitude && x <= largestFP16:
				lost += x * factor
			}
		}
		return lost > MaxLost*(kept+lost)
	}
	seen := map[bool]int{}
	for range 50_000 {
		n := 1 + r.IntN(21)
		w, scaled := make([]byte, 2*n), make([]byte, 2*n)
		factor := []float64{0, 0.25, 1, 0x1p-12, 0x1p-20, math.Inf(1), math.NaN()}[r.IntN(7)]
		odd, large := 1+r.IntN(16), r.IntN(2) == 0
		for i := range n {
			x, y := uint16(0x3c00+r.IntN(0x400)), uint16(0x3c00+r.IntN(0x400))
			switch {
			case r.IntN(16) < odd && !large:
				x, y = patterns[r.IntN(len(patterns))], patterns[r.IntN(len(patterns))]
			case r.IntN(16) < odd: // about as much lost as may be
				x, y = uint16(0x400+r.IntN(0x2000)), uint16(r.IntN(0x400))
			}
			binary.LittleEndian.PutUint16(w[2*i:], x)
			binary.LittleEndian.PutUint16(scaled[2*i:], y)
		}
		want := sums(w, scaled, factor)
		if got := rowLoses(w, scaled, factor); got != want {
			t.Fatalf("%x scaled by %g to %x: %t, want %t", w, factor, scaled, got, want)
		}
		seen[want]++
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("rows that lose too much and others: %v", seen)
	}
}
