// Package irgen generates programs of the intermediate form, for tests that
// compile and run many of them.
//
// In: bytes, each of them a decision, or the number of a program in a list. Out:
// an ir.Program of one function, main, and how to fill its inputs.
//
// Invariants: the same bytes or number give the same program; a program
// passes ir.Verify; tensors have at most MaxElems elements, those of Wide MaxWide, and five
// dimensions.
// Values of an exact program are integers, or multiples of a power of two, with
// at most eleven significant bits, sums included: arithmetic in fp16 rounds
// nowhere, and two correct runs give equal numbers.
package irgen
