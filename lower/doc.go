// Package lower turns one engine segment of a placed program into tasks: the
// rules, one file a family of operations.
//
// In: a Segment, operations that every rule has accepted, in an order that
// respects their uses. Out: a Procedure, whose tasks have every register set
// and whose surfaces, scratch bytes, constants and relocations emit/hwx writes.
//
// What always holds: a tensor's bytes lie row major with the last dimension
// contiguous and every row on a multiple of 64 bytes; a view (slice, split,
// reshape, transpose that leaves the last dimension alone) costs nothing; what
// a task reads was written before it by a task, the host, or the constants; no
// register value depends on the name of a value. A rule never looks at the
// engine simulator, and the simulator never at a rule.
package lower
