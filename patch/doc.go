// Package patch replaces weight values in a compiled pair.
//
// It takes the two files of a pair, its debug database (package provenance), and arrays for named constants of the
// source. It returns the pair with these values, packed as the compiler packs them, and the database of the new pair.
//
// Invariants: the bytes of the tasks are those of the old pair, as is every
// other byte but the constants', the names that are digests of constants, and the
// container's digest in the descriptor; the result is the pair that the source
// compiles to with the new values, but that constants which become equal stay stored
// apart; where that cannot be held, a *Refusal says why and nothing is written: an
// array that has not the constant's type and shape, a constant that passes folded
// into others, that decides more than coefficients, whose packing depends on its
// values, that shares its bytes with a constant that stays, or of which the pair does
// not tell how it lies.
//
// The layout of a constant is read from the tasks that load it, and layout/weights packs it again; the debug database
// identifies the tasks and the owners of bytes.
package patch
