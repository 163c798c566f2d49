// Package values turns npy arrays into tensors and back.
//
// It takes an array and the type of a port and returns a tensor, or takes a tensor
// and returns an array, with the same values.
//
// Invariants: converting a tensor to an array and back returns the same values; an
// array with a different element type or shape than the port's is an error that says
// what to convert it to; an integer outside the range of the port's type is an error.
package values
