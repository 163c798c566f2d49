// Package build turns the syntax tree of a MIL text into an ir.Program.
//
// Input: the tree from frontend/mil, and the model's weight files.
// Output: the program, in which names are values, literals and blobs are
// constants, every operation is a row of the op table and every type is the best
// known one; or a diag.List with every error of the text.
//
// Invariants:
//
//   - A constant from a weight file is a window of the mapped file. It is not copied, and its element type and size in
//     bytes are those that the text declares.
//   - A number in the text becomes the nearest number of its element type, ties
//     to even, rounded once from the digits as written.
//   - The type of a result is the inferred one, with dimensions that only the
//     text knows filled in. The two must agree. After an error in a statement its
//     results have their declared types, so that one mistake is one error.
//   - Names of values are unique in a function and come from the text. If two sibling blocks use a name, the later
//     value gets a number as a suffix; a literal argument becomes a constant RESULT.PARAMETER.
//   - Time and memory are proportional to the length of the text. A declared size is only allocated after the bytes for
//     it were found.
package build
