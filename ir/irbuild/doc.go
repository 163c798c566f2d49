// Package irbuild writes programs of the intermediate form call by call, for
// tests that need many of them.
//
// In: calls that add inputs, constants and operations. Out: an ir.Program of one
// function, main.
//
// Invariants: values are named in the order of making, results have the
// types that the op table infers, and random weights follow from the seed alone.
package irbuild
