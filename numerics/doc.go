// Package numerics contains the scalar arithmetic of zinc: fp16 conversion in bulk, distances in units in the last
// place, the scalar behaviour of the numerics modes, the bound of the accumulator's error, and the reasons why results
// of an operation differ from exact ones.
//
// It deals in bits, floats and bounds, not in shapes, semantics of operations or layouts.
//
// Invariants: every function is pure and gives the same bits on every platform; narrowing rounds to nearest, ties to
// even; nothing allocates except for one widening table of 256 KB, built on first use.
//
// docs/numerics.md describes the model of the mode ANE and the derivation of the bound.
package numerics
