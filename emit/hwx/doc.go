// Package hwx reads and writes the hardware container: the Mach-O-shaped file
// (magic 0xbeefface) with a compiled program for the engine, its constants and their addresses.
//
// In: the bytes of a container ([Read]), or an [Image] that describes a new one ([Build]). Out: a typed [File], which
// writes itself back ([File.WriteTo], [Encode]), prints ([Dump], [JSON]) and is checked against the structural rules of
// the format ([Validate]).
//
// Invariants:
//
//   - Encode(Read(x)) is x, byte for byte, for every x that Read accepts. Load
//     commands that are not understood are kept as [Raw]; words that are not
//     understood are fields of their own; bytes between the parts of the file
//     that are not zero are kept as [Gap].
//   - Read copies no section contents: [Section] parts are slices of the input,
//     which may be a memory-mapped file.
//   - Read trusts no size: every failure is a [*FormatError] with the absolute
//     byte offset of the field at fault. Memory used is bounded by a constant
//     times the length of the input.
//   - [Scan] is for files that Read refuses: it returns every complete part and
//     reports where a truncated file ends, within the same bounds.
//   - Build returns a file that passes Validate, or an error. The same Image
//     always gives the same bytes; they contain no time, path or host.
//
// The layout of every record is the table at the top of format.go. Tasks are
// bytes here: package lower/td decodes them.
package hwx
