// Package interp is the reference interpreter: it runs a function of the
// intermediate form, operation by operation, on tensors in memory.
//
// In: an ir.Func, inputs by name, a numerics mode. Out: the function's results
// by name, or an error that names the operation, its place in the source and
// what it cannot do.
//
// It is one of two independent implementations; the other is the
// register-level engine, which runs the bytes that were emitted. So this
// package never imports lower, layout, emit or passes, and resolves the
// attributes of most operations itself.
//
// Invariants: results do not depend on the number of workers or on
// GOMAXPROCS (work is split over rows and outputs, never over the terms of a
// sum); constants are windows of their source, never copied, never written;
// values are freed after their last use; the sum of live bytes stays under
// Options.MaxBytes; any function, however broken, gets an error.
//
// In the mode IEEE an operation computes in fp32 (norms and reductions in
// fp64) and rounds once to the declared type of its result. In the mode ANE an
// operation that is placed on the engine follows the rules of package
// numerics: fp16 in, fp16 out, no NaN, no -0; activations are the exact
// function, since tables are the engine's business and their error is part of
// the tolerance. Operations placed elsewhere use IEEE in either mode.
package interp
