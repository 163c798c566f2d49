package interp

import (
	"maps"

	"github.com/zinc-compiler/zinc/ir"
)

// kernels contains the kernel of every operation that can be run.
var kernels = map[*ir.Operation]kernel{}

// add enters kernels into the table; each file of kernels calls it once.
func add(ks map[*ir.Operation]kernel) struct{} {
	maps.Copy(kernels, ks)
	return struct{}{}
}

// Supports reports whether the interpreter can run an operation.
func Supports(o *ir.Operation) bool { return kernels[o] != nil }
