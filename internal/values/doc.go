// Package values turns npy arrays into tensors and back.
//
// In: an array and the type that a port asks for, or a tensor. Out: the tensor or
// the array with the same values.
//
// Invariants: a value that comes back is the one that went; an array whose
// element type or shape is not what the port asks for is an error that says what to
// convert it to, as is an integer that the port's type does not hold.
package values
