// Package e5rt is the runtime that applications call: compile once, bind once,
// dispatch many times.
//
// In: a model's path and a function that compiles it; buffers of the caller's. Out:
// the buffers, with what the compiled function writes in them. The calls are those
// of the seed's chapter 2, with the same nouns: [Compiler], [ProgramLibrary],
// [ProgramFunction], [PrecompiledComputeOpCreateOptions],
// [ExecutionStreamOperation], [IOPort], [BufferObject], [ExecutionStream]; the
// comment of each names the call, and [Calls] lists them with their phase. A
// [Runtime] is what one process has of them.
//
// Invariants:
//
//   - A call in the wrong order, a port without a buffer, a buffer that is too
//     small gives an [*Error] that names the call, the object and what to do, and
//     changes nothing.
//   - A run reads and writes the buffers in place. One buffer object bound to an
//     output and an input keeps state: the run reads the old value and writes the
//     new one.
//   - Streams of one runtime run one at a time, in the order of their submission,
//     unless [Options.OverlapStreams] asks for the path that the M1 leaves
//     unfinished.
//   - Time is virtual: nothing sleeps and nothing reads the time of day.
//   - What is in a cache's folder never makes a call fail: an entry that is not
//     whole is compiled again. It is checked against corruption, not against
//     forgery: who may write to the folder decides what runs.
//
// # What is known and what is modelled
//
// The calls in the listings 2.1 to 2.4, their order, the aliasing of an output with
// an input, the serialised path and the unfinished overlap are the seed's. Modelled
// are: the calls that no listing shows (is_new_compile_required, submit_async, the
// releases), the states of a stream and that an executed one must be reset before
// it encodes again, that type 0 is the only type of a buffer object, and when two
// streams count as overlapped.
package e5rt
