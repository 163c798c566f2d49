// Package verify checks a compiled program against its source: it compiles,
// loads the written bytes into the simulator, runs the simulator and the
// reference interpreter on the same seeded inputs, and compares every output.
//
// Input: a program, a seed, options. Output: for each output, the largest
// difference between the two runs, the tolerance and whether the difference is
// within it; and the compiler's report.
//
// FirstDeparture compares a run task by task instead, and names the first
// intermediate value that differs from the interpreter's.
//
// Invariants: the two runs share nothing but the inputs. The simulator sees
// only the bytes of the pair; the interpreter sees only the source program.
// The tolerance is computed from the interpreter alone, before the simulator
// runs: it is how far the outputs move when every operation placed on the
// engine errs within its stated bound. docs/numerics.md states the formula.
// The same program, options and seed give the same result on any number of
// workers.
package verify
