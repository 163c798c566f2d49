// Package split cuts a program into a pipeline of programs that run one after the other.
//
// In: a function of a program, and how many parts it becomes or how many bytes of constants each may have. Out: the
// parts, each a program of its own; an output of one is the input of the same name of those after it.
//
// Invariants: the parts one after the other compute what the function computes, bit for bit in the interpreter; every
// part is a valid program within the limit; the same program and options give the same parts.
package split
