// Package witness searches for inputs that show what an analysis of ranges suspects: that a statement reaches a limit
// of the engine's arithmetic.
//
// In: a function, its pair on the simulator, what an analysis knows about it (Analysis) and suspects (Suspicion), the
// range of each input, a budget. Out: a Witness for each suspicion: an input of the whole function for which the
// simulator's outputs are far from the interpreter's with all fp16 values in fp32, or the statement cut out as a
// function of its own, with operands that show it (Cut); or how far the search came.
//
// The search records runs on drawn inputs and on samples, then tries each suspicion's goals: the corner of the input
// ranges that the signs of a derivative indicate (gradient, corners), a line between two corners (bisect), and fixed
// patterns. Statements of the remaining suspicions are cut out, alone or with their neighbours, with ever wider
// operands (cutOut).
//
// Invariants: a suspicion is shown only by a run, never by an interval. The same function, ranges, budget and samples
// give the same witnesses. Runs stay within the budget, except for the first recorded run.
package witness
