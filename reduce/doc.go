// Package reduce shrinks a model that shows a fault to a small one that still
// shows it.
//
// In: a program, and a predicate that says of a candidate whether it is still
// interesting. Out: the smallest interesting program that was found, what each
// pass did, and its form as MIL text with a weight file that holds only the blobs
// still used.
//
// Invariants: every candidate passed ir.Verify before the predicate saw
// it, and no candidate is tried twice; the result is interesting, as the program
// given was, or there is an error that says that the latter is not. The result
// follows from the program, the predicate's answers and the options alone:
// Options.Jobs decides how many candidates are tried ahead of their turn, never
// which is taken, and what was tried in vain does not count against
// Options.MaxRuns. A predicate whose answers depend on load (a time limit that is
// met only sometimes) takes that away. The program given is not changed.
//
// A pass (Passes lists them, in order) is a set of edits of the program, from
// large to small. All passes repeat until none finds anything. Values that an
// edit cuts off become inputs of the function where their element type allows
// it, so that what reads them stays as it was.
package reduce
