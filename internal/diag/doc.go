// Package diag holds source positions and the diagnostics that every phase
// which can blame a place in a text reports.
//
// Input: a File (name and text), byte positions in it, and one
// Diagnostic for each thing that is wrong. Output: the text a terminal
// shows (file:line:col, the source line, a caret with a tail, notes) and a JSON
// document for editors.
//
// Invariants: a Pos is four bytes and costs nothing until it is printed,
// for the line table of a File is built at the first question; a List keeps at
// most MaxKept diagnostics and counts the rest, so its memory does not follow a
// hostile input; text shown from the source is windowed and holds no control
// characters; output depends on the diagnostics alone.
//
// The package imports nothing of the module, so that intermediate
// representation and passes can carry positions without importing a parser.
package diag
