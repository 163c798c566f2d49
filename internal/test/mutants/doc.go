// Package mutants makes single mutations of Go source: other operators, constants and indices that are off by one,
// negated conditions, left out statements.
//
// Input: packages of this module. Output: the list of Sites, and an overlay for `go build -overlay` in which every
// chosen mutation stands beside the original; package active selects one of them when the program starts. One build
// thus serves all mutants.
//
// Invariants: the same source produces the same list in the same order; a mutation that does not compile is found by
// the build and dropped; line numbers stay as they are.
package mutants
