// Package patch replaces weight values in a compiled pair.
//
// It takes the two files of a pair, its debug database (package provenance), and arrays for named constants of the
// source. It returns the pair with these values, packed as the compiler packs them, and the database of the new pair.
//
// Invariants: only the bytes of the constants, the names that are digests of
// constants, and the container's digest in the descriptor change; the bytes of the
// tasks do not. The result is the pair that the source compiles to with the new
// values, except that constants that become equal are still stored separately. If
// that is impossible, a *Refusal says why and nothing is written: the array does not
// have the constant's type and shape, or the constant was folded into others by a
// pass, affects more than coefficients, has a packing that depends on its values,
// shares its bytes with a constant that does not change, or has a layout that cannot
// be determined from the pair.
//
// A weight in compressed form is the result of a constexpr operation. Its codebook is replaced alone, without a change
// of the indices; or its values are, by indices of the codebook that the pair has, if they are near enough to its
// entries (Weight.MaxError). The pair is then the one that the source compiles to with those entries as values; of
// equal entries of a codebook, indices keep the one that they have.
//
// The layout of a constant is read from the tasks that load it, and layout/weights packs it again; the debug database
// identifies the tasks and the owners of bytes.
package patch
