// Package interp is the reference interpreter: it runs a function of the intermediate form on tensors in memory, one
// operation at a time.
//
// In: an ir.Func, inputs by name, a numerics mode. Out: the function's results by name, or an error that names the
// operation, its position in the source and the reason.
//
// It is one of two independent implementations; the other is the register-level engine, which runs the bytes that were
// emitted. This package therefore never imports lower, layout, emit or passes, and resolves the attributes of most
// operations itself.
//
// Invariants: results do not depend on the number of workers or on GOMAXPROCS (work is split over rows and outputs,
// never over the terms of a sum); constants are slices of their source and are never copied or written; values are
// freed after their last use; the sum of live bytes stays under Options.MaxBytes; any function, however broken, results
// in an error and not in a crash.
//
// In the mode IEEE an operation computes in fp32 (norms and reductions in fp64) and rounds once to the declared type of
// its result. In the mode ANE an operation that is placed on the engine follows the rules of package numerics: fp16 in,
// fp16 out, no NaN, no -0; activations are the exact functions, since tables are part of the engine and their error is
// part of the tolerance. Operations placed elsewhere use IEEE in either mode.
package interp
