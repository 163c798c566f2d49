// Package witness searches for inputs that show what an analysis of ranges suspects: that a statement reaches a limit
// of the engine's arithmetic.
//
// In: a function, its pair on the simulator, what an analysis knows of it (Analysis) and suspects (Suspicion), the
// range of each input, a budget. Out: a Witness for each suspicion: an input of the whole function for which the
// simulator's outputs are far from those of the interpreter with all fp16 values in fp32, or the statement cut out as a
// function of its own with operands that show it (Cut), or how far the search came.
//
// The search records runs on drawn and given inputs, then goes after each suspicion's goals: the corner of the input
// ranges that the signs of a derivative name (gradient, corners), a line between two corners (bisect), fixed patterns,
// and a climb along the derivative (climb). What is left is cut out, alone or with its neighbours, on ever wider
// operands (cutOut); operands that show it are looked for in the whole function again (toward).
//
// Invariants: only a run makes a suspicion shown, never an interval. The same function, ranges, budget and samples
// give the same witnesses. Runs stay within the budget, except that one is always recorded.
package witness
