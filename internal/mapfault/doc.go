// Package mapfault turns a read of a mapped file that has been shortened since into an error.
//
// The system answers such a read with a signal (SIGBUS), which ends the process unless the goroutine that reads has
// said otherwise. Guard runs a function in which such a read returns an *Error; Group runs goroutines for a guarded
// function.
//
// Input: the mappings, which whoever maps a file registers. Output: an *Error with the file and the offset of the
// first byte that could not be read.
//
// Invariants: a fault at any other address stays a panic, because it is a bug of the program. Code that recovers from
// panics on the way up passes those on for which Of returns an error.
package mapfault
