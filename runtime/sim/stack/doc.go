// Package stack assembles one complete machine: a device with its driver, the broker in front of it, and processes that
// run compiled models through all layers.
//
// In: compiled pairs, or containers alone, and tensors by name. Out: tensors by name, computed from the bytes of the
// container that reaches the engine at the bottom and, if a tracer is set, every step on the way.
//
// Invariants: a machine without faults returns the same bits as the engine when it is driven directly; the same calls
// of one process on a new machine produce the same events; an injected fault leads to an error or to a correct result,
// and the machine serves the next call; processes see only their own buffers.
package stack
