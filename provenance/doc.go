// Package provenance is the debug database of a compiled pair: what every task,
// register word, constant byte, surface and operation of the descriptor came
// from.
//
// In goes a DB that the compiler has filled (package compile, Options.Provenance),
// out comes a .zdb file, and the other way round. What is asked of it is answered
// in both directions: bytes of the task section, bytes of the constants, a word of
// a task, a surface or an operation to the statements of the source, the passes
// and the lowering rule; and a line of the source to all of those.
//
// The statements and the origins (Node) are a graph that mirrors ir.Origin: a node
// represents a statement or for what a pass made of older nodes. The graph is
// stored as it is and walked when something is asked, so that a file is linear in
// the model. It holds no weight bytes and no names of folders.
//
// A .zdb is a file of the embedded database bbolt, written in one transaction in
// the order of its keys: the same DB gives the same bytes. It is read without
// bbolt, which trusts its files: Read checks every page, element and record of the
// file against its length before it is used, and returns an error, never a panic, whatever the
// bytes are; memory stays in proportion to them. docs/provenance.md has the format
// and its versions: files of older and of later revisions are read.
package provenance
