// Package engine executes tasks: it takes the register image of a task and a memory to which the buffer-access
// registers point, and does what docs/registers.md says the task does. It implements that text alone and was written
// without looking at the compiler's lowering and packing, so a program that runs correctly here was encoded as the text
// describes.
//
// There is one way to read a task and two arithmetics to compute it: Engine uses the engine's rounded numbers on bytes,
// Exact the elements of a prime field on cells, for proofs.
//
// In: decoded tasks (lower/td) and a Memory. Out: the bytes the tasks write, and a *Fault for the first task that
// breaks a rule.
//
// Invariants: a field value without a known meaning is an error that names field and value; every address is checked
// against its window, or against the 2 MiB of L2, before anything is allocated or computed; memory and work are bounded
// by the windows and Options.MaxWork; no register image makes the engine panic; a result does not depend on
// Options.Workers.
package engine
