// Package diag has source positions and the diagnostics that refer to them.
//
// Its input is a File (name and text), byte positions in it, and a Diagnostic for
// each fault. Its output is text for a terminal (file:line:col, the source line, a
// caret, notes) and a JSON document for editors.
//
// Invariants: a Pos has four bytes, and the line table of a File is built only when
// a position is printed; a List keeps at most MaxKept diagnostics and counts the
// rest, so its memory does not grow with the number of faults; source text is cut to
// a window and shown without control characters; the output depends only on the
// diagnostics.
//
// The package imports no package of the module, so that the intermediate
// representation and passes can have positions without importing a parser.
package diag
