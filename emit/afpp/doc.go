// Package afpp reads and writes the firmware container, the form in which the firmware receives a program at load: a
// package (ANEH) of programs (ANEP), each of five sections (ANES): generic, kernel, text, operation and procedure
// (chapter 23, table 23.1; chapter 29, AFPP validation).
//
// In: the bytes of a container ([Read]), or a [Package] that describes a new one ([Encode]). Out: the typed form, its
// bytes, its text ([Dump]) and its JSON ([JSON]).
//
// Invariants:
//
//   - Encode(Read(x)) is x, byte for byte, for every x that Read accepts.
//   - Encode returns only bytes that Read accepts, or an error.
//   - Read trusts nothing: magic numbers, versions, sizes, bounds, overlap,
//     padding, checksums, and every index from one table into another. A
//     failure is a [*FormatError] with the byte offset, the field, the rule, the
//     value and the limit. Memory is bounded by a constant times the length of
//     the input; section bytes are slices of it.
//   - [Scan] is for containers that Read refuses: it returns every complete part
//     and reports where a truncated container ends, within the same bounds.
//   - A record with a slot is in a bar of its task's procedure, and has an
//     address exactly when that bar has one: address 0 of an input or an output
//     says that each call provides the buffer. All records name registers of one
//     aperture.
//   - The same Package gives the same bytes.
//
// This package checks only the size of a register image. td.Join, which the runner of the tasks calls, checks that
// images and records agree.
//
// Known and modelled: the three levels, their magic numbers, the names of the sections, the shape of the headers, the
// 44 bytes of a record and the seven register groups are from the chapters. The bodies of the generic, operation and
// procedure sections, the numbers of the section kinds and the alignment and order of bodies are zinc's own; format.go
// says so row by row.
package afpp
