// Package e5 reads, writes and prints the E5 dispatch descriptor: the FlatBuffer
// that names the operations of a compiled model, in the order a runtime submits
// them, and says where each operand lies.
//
// In: a [Program], its functions made of operations over one table of operands.
// Out: the bytes of the descriptor; and from bytes, an equal Program or an error
// that names the byte offset, the table and the field.
//
// What always holds:
//
//   - The same Program gives the same bytes, on any machine.
//   - The size follows the number of operations and operands and the length of
//     their names, never the shape of a tensor: a field of fixed width is
//     written even when it is zero.
//   - Every file decodes with the schema e5.fbs of this folder.
//   - [Read] checks the whole buffer, nested records too, before it looks at any
//     value, in time and memory that the length of the buffer bounds. Any input
//     gives a Program or a [*FormatError].
//   - What Read accepts, [Write] writes, and reading that gives an equal Program.
//   - The constants of a CPU segment lie at file offsets that are multiples of
//     [ConstantAlign]; Read does not copy them.
//
// The Go module of FlatBuffers has no verifier, and its accessors panic on a
// malformed buffer: the checks are verify.go, driven by the table of tables in
// schema.go.
package e5
