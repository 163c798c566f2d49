// Package coreml forecasts where Core ML would run each operation of a program: on the CPU, the GPU or the engine.
//
// In: a program as written, rules of one chip and system (Rules), the compute units that the caller allows. Out: a
// Plan: for each operation the backends that can run it and why the others cannot, the estimate of each, the one that
// is chosen; then the segments, ties, and what would change the choice.
//
// The framework decides in four stages, and each has a file here. A validator for each backend says whether it can run
// an operation (support.go). An estimate in milliseconds follows from the work that is counted (work.go) and a rate
// (estimate.go); rates are data, one file for each chip and system (rules.go, rulesfile.go, rates). The cheapest way
// through the operations in program order, with one state for each backend, is the choice (path.go). near.go asks what
// changes within the intervals in which the edges of the rates are known, move.go what else would change the choice.
// docs/coreml.md has the evidence of each rule.
//
// Invariants: the program is not changed, and no weight is read. The forecast is deterministic and linear in the
// operations. Costs are added as whole femtoseconds, so that equal costs are equal: a tie is reported as a tie. What is
// not known (an unknown dimension, a backend without rates) becomes a reason or a note, never a number.
package coreml
