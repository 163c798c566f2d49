// Package sim runs a compiled pair: the container's tasks on the engine
// simulator, the descriptor's casts on the host, its CPU calls in the
// interpreter.
//
// In: a pair, or a container that stands alone, nothing else; inputs as tensors by
// name or in bound buffers. Out: outputs likewise. States are memory of the machine,
// or a buffer that is bound to them, which a run that succeeds updates in place.
//
// Invariants: numbers come out of the bytes, never of the graph they were
// compiled from; a pair whose halves do not belong together (the descriptor
// carries the container's SHA-256) is refused; every buffer access is inside
// the window that the container declares; any bytes give an error, not a panic.
package sim
