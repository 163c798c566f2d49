// Package hazard checks the tasks of a container for errors that would occur if they ran. It
// executes nothing.
//
// In: a container from hwx.Read, of the h13 generation. Out: findings, each with procedure, task, field, the value at
// fault and the limit.
//
// The checks: tile and coefficient DMA outside its buffer or into one of the wrong direction, buffer-access
// registers without a buffer, a result that overlaps itself or a source that it is not aligned with, L2 addresses
// outside the memory, L2 and scratch that is read but never written, L2 that a task partly overwrote before its
// reader ran, and chains whose sizes, indices and counts contradict each other. docs/registers.md ("What a task
// does") has the rules; the addresses come from td.Accesses, not from the engine.
//
// Invariants: a finding is certain by those rules. If a question cannot be decided from the addresses, such as whether
// two of three readers meant the same data, or whether a result that is overwritten unread was needed, there is no
// finding. Any bytes lead to findings or an error, never a panic. The work is linear in the number of tasks: DRAM is
// kept as intervals, L2 as a map of its 131072 granules, which one task passes over a fixed number of times at most.
package hazard
