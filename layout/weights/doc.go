// Package weights lays constants out for the engine's coefficient DMA.
//
// In: the constants of one task as plain bytes (a weight tensor in MIL order, little-endian fp16, usually a window of a
// memory-mapped file, never written; bias and scale rows as fp16 bit patterns; a lookup table). Out: the bytes of the
// task's parts, one per core, and the constant section with the parts of all tasks, with the names for its symbols.
//
// The pieces, in the order a code generator uses them:
//
//   - Cut decides which outputs one task computes.
//   - A Plan says which core of a task computes which outputs, in which output
//     channel group. It depends only on (outputs, cores, OCGSize), so
//     an engine that reads those three registers finds the same assignment.
//   - Plan.Pack, Plan.PackSkipping, Plan.PackMasks, PairRows and Table.AppendTo write bytes.
//   - A Section collects parts and stores equal constants once.
//   - Generate and the table constructors build lookup tables from functions;
//     Table.Eval is their reference evaluation and Activation.Worst their stated error.
//
// Invariants: every part starts on and is padded with zeros to 64 bytes; the bytes do not depend on the number of
// workers, on map order, time or host; no input makes the package panic or allocate more than a small multiple of the
// input's length; a Kernel whose slices disagree with its extents is an error that names the field, its value and the
// limit.
//
// Sources: the packings of dense, grouped, depthwise and zero-skipping kernels and the cutting rule were read off
// recorded containers and reproduce the SHA-256 of their constant sections (see the package tests). Unconfirmed rules
// are marked "modelled" where they are defined.
package weights
