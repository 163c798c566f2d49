// Package sim runs a compiled pair: the container's tasks on the engine
// simulator, the descriptor's casts on the host, its CPU calls in the
// interpreter.
//
// It takes a pair, or a container alone, and inputs as tensors by name or in bound buffers; it returns outputs in the
// same way. States are memory of the machine or of bound buffers, which a successful run updates in place.
//
// Invariants: results are computed from the bytes alone, never from the graph they were compiled from; a descriptor
// that was written for another container (it carries the container's SHA-256) is refused; every buffer access is inside
// the window that the container declares; invalid bytes produce an error, not a panic.
package sim
