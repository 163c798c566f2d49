// Package lint finds numeric cliffs: statements whose values, for inputs in
// given ranges, reach a limit of the engine's arithmetic (docs/numerics.md).
//
// In: a compiled program, the range of each input, the target. Out: findings,
// each with the rule, the statement and its place in the source, the interval,
// the limit, what to write instead, and where one was found an input that shows
// the cliff: the simulator's outputs for it, from the bytes of the pair, stand
// far from those of the interpreter with all fp16 values in fp32.
//
// What always holds: the interval of a value contains what the interpreter
// gives for it, in either mode of numerics, whatever the inputs in their ranges;
// an operation without a transfer function has the range of its type, and is
// listed as such. Rules look at the intervals of the runs in which no earlier
// statement gives NaN; a finding says where one may. A finding is "shown" only by a run, never by the intervals.
// The same program, ranges and options give the same findings and inputs.
package lint
