// Package lint finds numeric cliffs: statements whose values, for inputs in
// given ranges, reach a limit of the engine's arithmetic (docs/numerics.md).
//
// In: a compiled program, the range of each input, the target. Out: findings,
// each with the rule, the statement and its place in the source, the interval,
// the limit, what to write instead, how close recorded runs come to it, and where
// one was found an input that shows the cliff: the simulator's outputs for it, from
// the bytes of the pair, stand far from those of the interpreter with all fp16
// values in fp32. Where no input of the whole model does, a Cut: the statement as a
// model of its own, with operands from its ranges that show it. Findings are ranked
// and grouped by cause; where ranges lose their bounds is told once (Root).
//
// Invariants: the interval of a value contains what the interpreter
// gives for it, in either mode of numerics, whatever the inputs in their ranges;
// an operation without a transfer function has the range of its type, and is
// listed as such. Rules look at the intervals of the runs in which no earlier
// statement gives NaN; a finding says where one may. A finding is "shown" or "shown
// alone" only by a run, never by the intervals, and operands of a cut that only the
// intervals allow are said to be that. The same program, ranges and options give the same findings and inputs.
package lint
