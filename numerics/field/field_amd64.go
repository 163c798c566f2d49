package field

import "golang.org/x/sys/cpu"

//go:generate go run -C ../vector/internal/asm ./field

var (
	accelerated = cpu.X86.HasBMI2
	limbs       = cpu.X86.HasAVX512F && cpu.X86.HasAVX512IFMA // multiplies integers of 52 bits
)

// addStrip adds to a row the sums of the products with the columns of a strip.
func addStrip(c, w []Elem, strip *[stripTerms * stripColumns]Elem) {
	if limbs && len(c) > stripColumns/2 {
		var parts [3][stripColumns]uint64
		sums8(&parts, (*uint64)(&w[0]), (*uint64)(&strip[0]), len(w))
		for j := range c {
			mid, high := uint64(reduced(parts[1][j])), uint64(reduced(parts[2][j]))
			// Times a power of two is a rotation of 61 bits, and 2^104 is 2^43.
			mid, high = mid<<52&P|mid>>9, high<<43&P|high>>18
			c[j] = Add(c[j], Add(reduced(parts[0][j]), reduced(mid+high)))
		}
		return
	}
	var sums [stripColumns]uint64
	for j := 0; j < len(c); j += stripColumns / 2 {
		sums4(&sums[j], (*uint64)(&w[0]), (*uint64)(&strip[j]), len(w))
	}
	for j := range c {
		c[j] = Add(c[j], reduced(sums[j]))
	}
}
