// Package td defines the task descriptor: the typed task, the field table, and the codec between a task and its words.
// It knows no lowering rules and imports nothing of zinc, so that the compiler that writes tasks and the engine that
// executes them share bytes and field names and nothing else.
//
// A Task is the value of every field. A version of the descriptor is a Codec: where it has the fields, and how it puts
// words together. V7 and V11 are chains of words in a container (EncodeWords, ChainWriter; DecodeWords, DecodeChain),
// V7Full writes V7 as the compilers did that wrote every record whole, and V10 is the register image that is loaded;
// Split leaves its buffers open and returns the 44-byte records that close them, Join puts both together again. A value
// that a version has no place for is an error of its codec; Complete takes a task whose values are as V7 codes them
// to the codec's version. CodecOf returns the codec of a version. WriteText and ReadText are the text form, which names
// the places of V10.
//
// The field table is the only source of what is printed about a task's values (Readings, Row.Meaning, Row.Provenance)
// and of their names in code. Values of enumerations are constants with types of their own (NEMultiply, PlanarReduce).
// A row has its Kind and, for an element of an indexed field, its Array. Streams and Accesses describe which tensors a
// task reads and writes, LaneParts and StreamParts which coefficients. WalkChain, ScanRecords and ScanImages return an
// error together with everything before it.
//
// Invariants: every bit of every register word belongs to exactly one field of the table (bits that nobody has
// explained are fields of their own, marked Unknown, or in V11 an error), so that decoding and encoding again returns
// the same words; every field has one place in version 10, so that a task survives the conversion unchanged; a value
// that does not fit its field is an error that names field, value and limit; no input makes a decoder panic, loop, or
// allocate beyond the input's own length.
package td
