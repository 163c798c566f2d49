// Package e5 reads, writes and prints the E5 dispatch descriptor: the FlatBuffer that names the operations of a
// compiled model, in the order in which a runtime submits them, and the place of each operand.
//
// In: a [Program], whose functions are operations over one table of operands.
// Out: the bytes of the descriptor; and from bytes, an equal Program or an error
// that names the byte offset, the table and the field.
//
// Invariants:
//
//   - The same Program gives the same bytes, on any machine.
//   - The size follows the number of operations and operands and the length of
//     their names, never the shape of a tensor: a field of fixed width is
//     written even when it is zero.
//   - Every file decodes with the schema e5.fbs of this folder.
//   - [Read] checks the whole buffer, nested records too, before it uses any
//     value, in time and memory that the length of the buffer bounds. Any input
//     returns a Program or a [*FormatError].
//   - [Scan] is for files that Read refuses: it returns the values that are present,
//     within the same bounds.
//   - [Write] writes what Read accepts, and reading that returns an equal Program.
//   - The constants of a CPU segment are at file offsets that are multiples of
//     [ConstantAlign]; Read does not copy them.
//
// # Sections
//
// A function is the section of its name; its blocks are FN/BLOCK, its operations
// FN/BLOCK/OP, each with OP__arg_frame, the layouts of its operands, and
// OP__op_attrs, its parameters; the constants of a CPU segment are OP__const0 and
// so on. The reader insists on these names, and that each section is referred to
// once. Sections of an unknown kind are kept unchanged.
//
// # What is known and what is chosen
//
// The root table, the operation types, the fields of the tensor descriptor and the storage types 0 to 10 are as in real
// descriptors. The names and the numbers of the kinds of sections, the fields that e5.fbs marks "zinc", and the records
// of the operations other than Cast and AneInference are choices.
//
// Checks, reader and writer come from internal/flattable, driven by the table of tables in schema.go.
package e5
