package vector

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestInterleaveTransposes compares every half of matrices of all small shapes, and of some with more columns than a
// block, with its place, and checks that nothing else is written.
func TestInterleaveTransposes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	saved := interleave
	defer func() { interleave = saved }()
	for trial := range 4000 {
		interleave = saved
		if trial%2 == 1 {
			interleave = interleavePortable
		}
		rows, cols := trial/2%40, 1+r.IntN(80)
		if trial%50 == 0 {
			cols = 1 + r.IntN(3*blockColumns)
		}
		src, dst := make([]byte, 2*rows*cols), make([]byte, 2*rows*cols+2)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		binary.LittleEndian.PutUint16(dst[2*rows*cols:], 0xa55a)
		Interleave(dst, src, rows, cols)
		for y := range rows {
			for x := range cols {
				if got, want := dst[2*(x*rows+y):][:2], src[2*(y*cols+x):][:2]; !bytes.Equal(got, want) {
					t.Fatalf("%d rows of %d: row %d, column %d is %x, want %x", rows, cols, y, x, got, want)
				}
			}
		}
		if end := binary.LittleEndian.Uint16(dst[2*rows*cols:]); end != 0xa55a {
			t.Fatalf("%d rows of %d: what follows the result was overwritten", rows, cols)
		}
	}
}

func TestInterleaveRefusesShortOperands(t *testing.T) {
	for _, short := range [][2]int{{63, 64}, {64, 63}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d bytes from %d: want a panic", short[0], short[1])
				}
			}()
			Interleave(make([]byte, short[0]), make([]byte, short[1]), 8, 4)
		}()
	}
}

func BenchmarkInterleave(b *testing.B) {
	const rows, cols = 16, 4096
	src, dst := make([]byte, 2*rows*cols), make([]byte, 2*rows*cols)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Interleave(dst, src, rows, cols)
	}
}
