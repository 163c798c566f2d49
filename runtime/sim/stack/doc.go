// Package stack puts one machine together: a device with its driver, the broker
// before it, and processes that run compiled models through all of it.
//
// In: compiled pairs, or containers alone, and tensors by name. Out: tensors by
// name, computed from the bytes of the container that the engine was handed at
// the bottom, and, where a tracer is given, every step on the way.
//
// Invariants: a machine without faults gives the bits that the engine,
// driven directly, gives; the same calls of one process on a new machine give the
// same events; a fault injected is an error or a right result, and the machine
// serves the next call; processes see their own buffers alone.
package stack
