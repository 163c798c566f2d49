// Package target contains one table per hardware target: the limits that
// placement, legalisation and lowering read. Code asks the table for a number
// or a capability and never which target it is.
//
// In: a target's name. Out: its Table. Invariants: a table is a copy of
// an older generation's with what changed written over it, so a number stands
// once; tables are not changed after they are made.
//
// The limits are the public decoding of the vendor compiler's
// per-chip table; fields that are measured or only modelled say so.
package target
