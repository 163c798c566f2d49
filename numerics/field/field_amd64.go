package field

import "golang.org/x/sys/cpu"

//go:generate go run -C ../vector/internal/asm ./field

var accelerated = cpu.X86.HasBMI2

// addStrip adds to a row the sums of the products with the columns of a strip.
func addStrip(c, w []Elem, strip *[stripTerms * stripColumns]Elem) {
	var sums [stripColumns]uint64
	for j := 0; j < len(c); j += stripColumns / 2 {
		sums4(&sums[j], (*uint64)(&w[0]), (*uint64)(&strip[j]), len(w))
	}
	for j := range c {
		c[j] = Add(c[j], reduced(sums[j]))
	}
}
