// Package numerics holds what zinc knows about numbers, one scalar at a time:
// fp16 conversion in bulk, distances in units in the last place, the scalar
// behaviour of the two numerics modes, and the error bounds that a comparison of
// engine and interpreter may use.
//
// In: bits, floats, reasons of bounds. Out: bits, floats, bounds. No shapes,
// no operations' semantics, no layouts.
//
// Invariants: every function is pure and gives the same bits on every
// platform; narrowing rounds to nearest, ties to even; nothing here allocates
// except the one widening table of 256 KB, built on first use.
//
// The model behind the mode ANE and the derivation of the bounds are told in
// docs/numerics.md.
package numerics
