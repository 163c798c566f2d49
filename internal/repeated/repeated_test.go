package repeated

import (
	"math"
	"testing"
)

// TestBytesRepeat reads lengths around multiples of the period.
func TestBytesRepeat(t *testing.T) {
	period := make([]byte, 3*Unit)
	for i := range period {
		period[i] = byte(i * 7 >> 3)
	}
	for _, n := range []int{0, 1, len(period) - 1, len(period), len(period) + 1, 5*len(period) + 12345} {
		b := Bytes(period, n)
		if len(b) != n {
			t.Fatalf("%d bytes, want %d", len(b), n)
		}
		for i, x := range b {
			if x != period[i%len(period)] {
				t.Fatalf("%d bytes: byte %d is %d, want %d", n, i, x, period[i%len(period)])
			}
		}
	}
}

// TestLongBytesTakeNoMemory requests more than a machine has: it is mapped, or refused.
func TestLongBytesTakeNoMemory(t *testing.T) {
	length := int64(1) << 36
	if length > math.MaxInt {
		t.Skip("lengths have 32 bits here")
	}
	period := make([]byte, 64*Unit)
	period[5] = 1
	b := Bytes(period, int(length))
	if b == nil {
		t.Skip("the system maps no files, or its address space is limited")
	}
	if b[length-int64(len(period))+5] != 1 {
		t.Error("the last repetition differs")
	}
}
