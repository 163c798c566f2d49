// Package wrongkernel runs programs with one wrong kernel, for tests of tools that search for faults.
//
// It reports whether the outputs of a program, computed by the interpreter with the wrong kernel, differ from what the
// interpreter computes.
//
// Invariants: the kernel is wrong where a product multiplies the second
// part of a split, gated by a sigmoid, with the first part (a gated linear unit),
// and its result has a given name; the same operation on other operands is right.
// Inputs follow from the names and a fixed seed.
package wrongkernel
