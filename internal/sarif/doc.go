// Package sarif writes findings in the Static Analysis Results Interchange
// Format, version 2.1.0, which editors and code-review tools read.
//
// In: runs of findings with plain places in files. Out: one JSON log.
//
// Invariants: the log has the properties that the standard requires and
// no others than it knows; rules are in the order given and results refer to
// them by index; the same findings give the same bytes.
package sarif
