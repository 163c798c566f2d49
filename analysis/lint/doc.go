// Package lint finds numeric hazards: statements whose values reach a limit of the engine's arithmetic for inputs in
// the ranges passed (docs/numerics.md).
//
// In: a compiled program, the range of each input, the target. Out: findings,
// each with the rule, the statement and its place in the source, the interval,
// the limit, what to write instead, how close recorded runs come to it, and what
// package witness found: an input that shows the hazard, or a model of the statement
// alone with operands that do. Findings are ranked and grouped by cause; a place
// where ranges become unbounded is reported once (Root).
//
// Invariants: the interval of a value contains what the interpreter computes for it, in either mode of numerics, for
// all inputs in their ranges; an operation without a transfer function has the range of its type, and is listed as
// such. Rules look at the intervals of the runs in which no earlier statement returns NaN and earlier findings are
// repaired: results without bounds are clipped. A finding names the first of these, or states whether a statement
// before it may return NaN. A finding is "shown" or "shown alone" only by a run, never by the intervals, and operands
// of a cut that only the intervals allow are marked as such. The same program, ranges and options give the same
// findings and inputs.
package lint
