// Package verify checks a compiled program against its source. It compiles, loads the written bytes into the simulator,
// runs them on seeded inputs, and compares what the engine computed with the reference interpreter: every output, and
// every statement whose result the engine left in memory.
//
// Input: a program, a seed, options. Output: for each output, the largest difference, its bound, what closed the
// comparison (Pass, a difference beyond the bound, or that verification cannot tell), and the compiler's report.
//
// FirstDeparture compares a run task by task instead, and names the first intermediate value that differs from the
// interpreter's.
//
// Invariants: the engine sees only the bytes of the pair, the interpreter only operations and their operands. A bound
// is an enclosure of what the arithmetic may return: roundings, sums in the engine's order, the signed errors of
// lookup tables. It is computed from the operands of a statement and never from its result, and nothing is sampled.
// docs/numerics.md has the rules. The same program, options and seed give the same result on any number of workers.
package verify
