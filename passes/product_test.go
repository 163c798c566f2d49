package passes

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// TestStayNormal compares rows with the numbers in them, at all positions in a group of four.
func TestStayNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	patterns := []uint16{0, 0x8000, 1, 0x3ff, 0x83ff, 0x400, 0x8400, 0x3c00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00}
	isNormal := func(h uint16) bool {
		f := math.Abs(float64(float16.Frombits(h).Float32()))
		return f >= leastMagnitude && f <= largestHalf
	}
	seen := map[bool]int{}
	for range 20_000 {
		n := 1 + r.IntN(21)
		w, scaled := make([]byte, 2*n), make([]byte, 2*n)
		want := true
		for i := range n {
			x, y := uint16(0x3c00+r.IntN(0x400)), uint16(0x3c00+r.IntN(0x400))
			if r.IntN(8) == 0 {
				x, y = patterns[r.IntN(len(patterns))], patterns[r.IntN(len(patterns))]
			}
			binary.LittleEndian.PutUint16(w[2*i:], x)
			binary.LittleEndian.PutUint16(scaled[2*i:], y)
			want = want && (isNormal(y) || !isNormal(x))
		}
		if got := stayNormal(w, scaled); got != want {
			t.Fatalf("%x scaled to %x: %t, want %t", w, scaled, got, want)
		}
		seen[want]++
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("rows that stay normal and others: %v", seen)
	}
}
