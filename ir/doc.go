// Package ir is zinc's intermediate form: a program of functions in static single assignment, each value with a type, a
// shape and a place in the source.
//
// In: the syntax tree of frontend/mil (or the package's own text form, which parses back). Out: the same program,
// transformed by passes and read by lower and by the reference interpreter.
//
// Verify checks the following invariants: every operation is a form in the registry (Operations), has one argument list
// for each parameter, in the form's order, and results whose types are those that the row's shape rule returns; every
// value is defined once, before its uses; constants carry their bytes, little endian and row major, often as a slice of
// a memory-mapped file, so Const.Data is read-only; every operation keeps the source position it came from.
//
// Operations is the registry: one row for each operation, which is also its identifier (OpConv), with the facts that
// are common to all its forms: class, curve, error, gate, what to use instead. A form (OpDef) has parameters, a shape
// rule (InferOp runs it after the checks that all forms share) and often a fold (FoldOp). Forms of one operation differ
// by the opset that introduced them; Lookup and LookupArgs choose. Other packages look facts up in the registry; a list
// of operations in another package says only what that package does with each. The functions that end in Attrs read an
// operation's arguments into plain structs with defaults and padding resolved, so that they are decoded in one place.
//
// The text form (Print, Parse) is complete: parsing it returns the same program, including positions and placement.
// Large constants may be stored in a separate data section (PrintTo). Parse accepts any input: it returns an error with
// line and column, and allocates no more than the input justifies.
package ir
