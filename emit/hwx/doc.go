// Package hwx reads and writes the hardware container: the Mach-O-shaped file
// (magic 0xbeefface) that holds a compiled program for the engine, its
// constants and the addresses both expect.
//
// In: the bytes of a container ([Read]), or an [Image] that says what a new one
// must hold ([Build]). Out: a typed [File], which writes itself back
// ([File.WriteTo], [Encode]), prints ([Dump], [JSON]) and is checked against the
// structural rules of the format ([Validate]).
//
// Invariants:
//
//   - Encode(Read(x)) is x, byte for byte, for every x that Read takes. Load
//     commands that are not understood are kept as [Raw]; words that are not
//     understood are fields of their own; bytes between the parts of the file
//     that are not zero are kept as [Gap].
//   - Read copies no section contents: [Section] parts are slices of the input,
//     which may be a memory-mapped file.
//   - Read trusts no size: every failure is a [*FormatError] with the absolute
//     byte offset of the field at fault. Memory used is bounded by a constant
//     times the length of the input.
//   - [Scan] is for files that Read refuses: it gives every part that is whole and
//     says where a file that was cut off ends, within the same bounds.
//   - Build returns a file that passes Validate, or an error. The same Image
//     gives the same bytes, always; no time, path or host is in them.
//
// The layout of every record is the table at the top of format.go. Tasks are
// bytes here: package lower/td decodes them.
package hwx
