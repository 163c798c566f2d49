// Package target contains one table per hardware target: the limits that placement, legalisation and lowering read.
// Code reads a number or a capability from the table and never branches on the target's name.
//
// In: a target's name. Out: its Table. Invariants: a table is a copy of an older generation's with its differences
// applied, so that a number is stated once; tables are never changed.
//
// The limits are the public decoding of the vendor compiler's
// per-chip table; fields that are measured or only modelled say so.
package target
