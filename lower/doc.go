// Package lower turns one engine segment of a placed program into tasks.
//
// It does so in three steps. The rules (Rules, one file for each family of
// operations) turn operations into drafts: what each task computes, from where and to
// where. The planners (Planners) work on all drafts: they decide where tensors are in
// L2 and scratch, what a task waits for, and how long it takes. The encoder
// (encode.go) writes the registers of each draft once. Nothing else in the package
// reads or writes registers. Numbers fitted to recorded programs are in fitted.go.
//
// In: a Segment, operations that every rule has accepted, in an order that
// respects their uses. Out: a Procedure, whose tasks have every register set
// and whose surfaces, scratch bytes, constants and relocations emit/hwx writes.
//
// Invariants: a tensor is stored row major, with the last dimension contiguous and every row at a multiple of 64 bytes;
// a view (slice, split, reshape, or a transpose that keeps the last dimension) needs no task; what a task reads is a
// constant or was written before, by a task or by the host; no register value depends on the name of a value. Rules and
// the engine simulator do not depend on each other.
package lower
