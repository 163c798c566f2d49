//go:build !amd64

package field

const accelerated, limbs = false, false

func addStrip(_, _ []Elem, _ *[stripTerms * stripColumns]Elem) {}

func addTiles(_ []Elem, _ int, _ []Elem, _, _ int, _ []Elem, _ []int, _ int) {}
