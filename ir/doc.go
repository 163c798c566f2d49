// Package ir is zinc's intermediate form: a program of functions in static
// single assignment, each value with a type, a shape and a place in the source.
//
// In: the syntax tree of frontend/mil (or the package's own text form, which
// parses back). Out: the same program, transformed by passes and read by lower
// and by the reference interpreter.
//
// What always holds, and Verify checks: every operation is a row of the one op
// table (Names, Forms), has one argument list a parameter of that row, in the row's
// order, and results whose types are those the row's shape rule gives; every
// value is defined once, before its uses; constants carry their bytes, little
// endian and row major, often a window of a memory-mapped file, so nobody
// writes to Const.Data; every operation keeps the source position it came from.
//
// The op table is rows, one a form of an operation: parameters, a shape rule
// (InferOp runs it after the checks that all rows share) and, for many, a fold
// (FoldOp). Forms of one name differ by the opset that brought them; Lookup and
// LookupArgs choose. The functions that end in Attrs read an operation's
// arguments into plain structs with defaults and padding resolved, so that no
// reader decodes them twice.
//
// The text form (Print, Parse) is complete: it gives the same program back,
// positions and placement included. Large constants may travel beside it in a
// data section (PrintTo, ParseWith). Parse takes any input: it returns an error
// at line and column, and allocates no more than the input justifies.
package ir
