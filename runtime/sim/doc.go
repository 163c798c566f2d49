// Package sim runs a compiled pair: the container's tasks on the engine
// simulator, the descriptor's casts on the host, its CPU calls in the
// interpreter.
//
// In: the bytes of a .hwx and of the .e5 beside it, nothing else; inputs as
// tensors by name. Out: outputs as tensors by name.
//
// What always holds: numbers come out of the bytes, never of the graph they were
// compiled from; a pair whose halves do not belong together (the descriptor
// carries the container's SHA-256) is refused; every buffer access is inside
// the window that the container declares; any bytes give an error, not a panic.
package sim
