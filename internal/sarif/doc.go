// Package sarif writes findings in the Static Analysis Results Interchange
// Format, version 2.1.0, which editors and code-review tools read.
//
// It takes runs of findings with positions in files and writes one JSON log.
//
// Invariants: the log has the properties that the standard requires and only
// properties that it defines; rules keep their order, and results refer to them by
// index; the same findings give the same bytes.
package sarif
