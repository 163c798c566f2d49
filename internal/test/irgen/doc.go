// Package irgen generates programs of the intermediate form, for tests that compile and run many of them.
//
// In: bytes, each a decision, or the number of a program in a list. Out: an ir.Program, and how to fill its inputs.
//
// Random is the list that covers everything: the other lists, operations of the registry on operands of any type
// (rows), blocks of networks, operations at the limits of a target, several functions, states, flexible shapes. Chain,
// Products and FromBytes have one function, main, of fp16 operations for the engine.
//
// Invariants: the same bytes or number give the same program; a program passes ir.Verify; tensors have at most MaxElems
// elements, except at limits. Values of an exact program of Chain and Products are integers, or multiples of a power of
// two, with at most eleven significant bits, including sums: fp16 arithmetic never rounds them, and two correct runs
// return equal numbers. Other exact programs return only values that were moved, compared or counted.
package irgen
