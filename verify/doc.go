// Package verify holds a compiled program against its source: it compiles,
// loads the bytes that were written into the simulator, runs those and the
// reference interpreter on the same seeded inputs, and compares every output.
//
// In: a program, a seed, options. Out: for each output how far the two runs
// stand apart, the tolerance and whether it holds; and the compiler's report.
//
// FirstDeparture goes through a run task by task instead, and names the first
// value on the way that is not the interpreter's.
//
// Invariants: the two runs share nothing but the inputs: the simulator
// sees only the bytes of the pair, the interpreter only the program as the
// source has it. The tolerance comes from the interpreter alone, before the
// simulator's result is looked at: how far the outputs move when every
// operation that was placed on the engine errs within its stated bound. The
// formula is told in docs/numerics.md. The same program, options and seed give
// the same result on any number of workers.
package verify
