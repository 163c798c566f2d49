// Package td holds what a task descriptor is: the typed task, the field table,
// and the codec between a task and its words. It knows no lowering rules and
// imports nothing of zinc, so that the compiler that writes tasks and the
// engine that executes them share bytes and field names and nothing else.
//
// In: a Task (Set) or the words of a task stream. Out: the words
// (Encode, EncodeChain) or the Task (Decode, DecodeChain).
//
// A task has two encodings. Version 7 is the chain of words in a container.
// Version 10 is the register image of seven groups that a load takes (EncodeV10,
// DecodeV10); Split leaves its buffers open and gives the 44-byte records that
// close them, Join puts both together again. CodecOf dispatches on the version.
// WriteText and ReadText are the text form, which knows neither.
//
// The field table is the one source of what is printed of a task's values (Readings,
// Row.Meaning, Row.Provenance) and of their names in code: values of enumerations are
// constants of types of their own (NEMultiply, PlanarReduce), a row has its Kind and, for
// an element of an indexed field, its Array. Streams and Accesses say which tensors a
// task reads and writes, and LaneParts and StreamParts which coefficients. WalkChain,
// ScanRecords and ScanImages give, with the error, what stands before it.
//
// What always holds: every bit of every register word belongs to exactly one
// field of the table (bits that nobody has explained are fields of their own,
// marked Unknown), so Decode followed by Encode gives the same words; every
// field has one place in version 10, so that a task comes through it unchanged;
// a value that its field cannot hold is an error that names field, value and
// limit; no input makes a decoder panic, loop, or allocate beyond its own
// length.
package td
