// Package provenance is the debug database of a compiled pair: what every task,
// register word, constant byte, surface and operation of the descriptor came
// from.
//
// The compiler fills a DB (package compile, Options.Provenance); this package
// writes it to a .zdb file and reads it back. Queries work in both directions:
// from bytes of the task section or the constants, a word of a task, a surface or
// an operation to the statements of the source, the passes and the lowering rule;
// and from a line of the source to all of those.
//
// The statements and their origins (Node) form a graph that mirrors ir.Origin: a
// node represents a statement, or the result of a pass on older nodes. The file
// contains the graph itself, and queries walk it, so that the size of a file is
// linear in the model. It contains no weight bytes and no names of folders.
//
// A .zdb file is a FlatBuffer with the tables of schema.go, which zdb.fbs has for other programs; the same DB gives the
// same bytes. Read checks the whole file before it uses any value. It returns an error for any invalid file and never
// panics, and its memory use is proportional to the file. docs/provenance.md describes the format and its versions.
package provenance
