//go:build !amd64

package field

const accelerated = false

func addStrip(_, _ []Elem, _ *[stripTerms * stripColumns]Elem) {}
