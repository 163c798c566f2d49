// Package e5rt is the runtime that applications call: compile once, bind once, dispatch many times.
//
// It takes a model's path, a function that compiles it, and the caller's buffers, into which the compiled function
// writes its results. The calls are from chapter 2 of the specification, with the same nouns: [Compiler],
// [ProgramLibrary], [ProgramFunction], [PrecompiledComputeOpCreateOptions], [ExecutionStreamOperation], [IOPort],
// [BufferObject], [ExecutionStream]; the comment of each method names the call, and [Calls] lists them with their
// phase. A [Runtime] holds the objects of one process.
//
// Invariants:
//
//   - A call in the wrong order, a port without a buffer, or a buffer that is too
//     small returns an [*Error] that names the call, the object and what to do, and
//     changes nothing.
//   - A run reads and writes the buffers in place. One buffer object bound to an
//     output and an input keeps state: the run reads the old value and writes the
//     new one.
//   - Streams of one runtime run one at a time, in the order of their submission,
//     unless [Options.OverlapStreams] requests the path that the M1 leaves
//     unfinished.
//   - Time is virtual: nothing sleeps and nothing reads the time of day.
//   - What is in a cache's folder never makes a call fail: an entry that is not
//     whole is compiled again. It is checked against corruption, not against
//     forgery: who may write to the folder decides what runs.
//
// # What is known and what is modelled
//
// The specification documents the calls in listings 2.1 to 2.4, their order, the aliasing of an output with an input,
// the serialised path and the unfinished overlap. Modelled are the calls that no listing shows
// (is_new_compile_required, submit_async, the releases), the states of a stream, the rule that an executed stream must
// be reset before it encodes again, type 0 as the only type of a buffer object, and when two streams count as
// overlapped.
package e5rt
