// Package irbuild writes programs of the intermediate form call by call, for tests that need many of them.
//
// In: calls that add inputs, constants and operations. Out: an ir.Program of one function, main.
//
// Invariants: values are named in the order in which they are created, results have the types that the op table infers,
// and random weights depend only on the seed.
package irbuild
