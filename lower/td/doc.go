// Package td holds what a task descriptor is: the typed task, the field table,
// and the codec between a task and its words. It knows no lowering rules and
// imports nothing of zinc, so that the compiler that writes tasks and the
// engine that executes them share bytes and field names and nothing else.
//
// In: a Task (Set, SetBytes) or the words of a task stream. Out: the words
// (Encode, EncodeChain) or the Task (Decode, DecodeChain), and text (Print).
//
// What always holds: every bit of every register word belongs to exactly one
// field of the table (bits that nobody has explained are fields of their own,
// marked Unknown), so Decode followed by Encode gives the same words; a value
// that its field cannot hold is an error that names field, value and limit;
// no input makes the decoder panic, loop, or allocate beyond its own length.
package td
