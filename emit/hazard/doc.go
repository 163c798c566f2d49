// Package hazard checks the tasks of a container for what would go wrong when
// they ran: it executes nothing.
//
// In: a container that was read (hwx.Read), of the h13 generation. Out: findings,
// each with procedure, task, field, the value at fault and the limit it breaks.
//
// What is looked for: tile and coefficient DMA outside its buffer or into one of
// the wrong direction, buffer-access registers without a buffer, a result that
// overlaps itself or a source it is not in step with, L2 addresses outside the
// memory, L2 and scratch that is read but that nothing wrote, L2 of which a task
// overwrote a part before its reader ran, and chains whose sizes, indices and counts
// contradict each other. docs/registers.md ("What a task does") has the rules;
// the addresses are those of td.Accesses, not the engine's.
//
// Invariants: a finding is certain by those rules. Where a question cannot
// be decided from the addresses, as whether two of three readers meant the same
// data, or whether a result that is overwritten unread was needed, there is none. Any
// bytes give findings or an error, never a panic. The work is linear in the number of
// tasks: DRAM is kept as intervals, L2 as a map of its 131072 granules, which one task
// passes over a fixed number of times at most.
package hazard
