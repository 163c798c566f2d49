// Package memlimit limits the memory that an input can make this process allocate: for the values of a run of the
// interpreter and for the constants that the compiler decompresses.
//
// The limit belongs to the process, like the memory itself. It is half of the memory that the process may use, at most
// 16 GiB, until Set replaces it.
//
// Invariants: the limit decides only whether work is refused with an error, never what a compilation writes, so the
// bytes of a pair do not depend on the machine.
package memlimit
