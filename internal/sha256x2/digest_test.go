package sha256x2

import (
	"crypto/sha256"
	"math/rand/v2"
	"testing"
)

// parts divides b into parts of random lengths.
func parts(r *rand.Rand, b []byte) (l [][]byte) {
	for len(b) > 0 {
		n := min(1+r.IntN(1+r.IntN(300)), len(b))
		l, b = append(l, b[:n]), b[n:]
	}
	return l
}

// TestSums compares the sums of every length up to four blocks, and of random pairs of lengths, added side by side and
// alone, in random parts, with the sums of crypto/sha256.
func TestSums(t *testing.T) {
	t.Run("of this processor", func(t *testing.T) { testSums(t, New) })
	t.Run("portable", func(t *testing.T) { testSums(t, func() *Digest { return &Digest{portable: sha256.New()} }) })
}

func testSums(t *testing.T, digest func() *Digest) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	test := func(x, y []byte) {
		t.Helper()
		a, b := digest(), digest()
		xs, ys := parts(r, x), parts(r, y)
		for len(xs) > 0 && len(ys) > 0 {
			m, n := WriteBoth(a, b, xs[0], ys[0])
			if m < len(xs[0]) && n < len(ys[0]) {
				t.Fatalf("of %d and %d bytes %d and %d were added", len(xs[0]), len(ys[0]), m, n)
			}
			if xs[0] = xs[0][m:]; len(xs[0]) == 0 {
				xs = xs[1:]
			}
			if ys[0] = ys[0][n:]; len(ys[0]) == 0 {
				ys = ys[1:]
			}
		}
		for _, p := range xs {
			a.Write(p)
		}
		for _, p := range ys {
			b.Write(p)
		}
		if a.Sum() != sha256.Sum256(x) || b.Sum() != sha256.Sum256(y) {
			t.Errorf("sums of %d and %d bytes are wrong", len(x), len(y))
		}
	}
	for n := range 4*sha256.BlockSize + 1 {
		test(random(n), random(n))
		test(random(n), random(r.IntN(1000)))
	}
	for range 500 {
		test(random(r.IntN(3000)), random(r.IntN(3000)))
	}
}

// BenchmarkWriteBoth is to be compared with BenchmarkAlone, which is one sum of crypto/sha256.
func BenchmarkWriteBoth(b *testing.B) {
	p, q := make([]byte, 1<<20), make([]byte, 1<<20)
	b.SetBytes(2 << 20)
	x, y := New(), New()
	for b.Loop() {
		WriteBoth(x, y, p, q)
	}
}

func BenchmarkAlone(b *testing.B) {
	p := make([]byte, 1<<20)
	b.SetBytes(1 << 20)
	h := sha256.New()
	for b.Loop() {
		h.Write(p)
	}
}
