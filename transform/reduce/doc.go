// Package reduce shrinks a model that shows a fault to a small one that still
// shows it.
//
// It takes a program and a predicate that decides whether a candidate is still interesting. It returns the smallest
// interesting program found, what each pass did, and the program as MIL text with a weight file of only the blobs still
// used.
//
// Invariants: every candidate passed ir.Verify before the predicate saw it, and no candidate is tried twice; the result
// is interesting, or there is an error because the original program is not. The result depends only on the program, the
// predicate's answers and the options: Options.Jobs decides how many candidates are tried speculatively, never which is
// taken, and unused speculative runs do not count against Options.MaxRuns. This does not hold for a predicate whose
// answers depend on load, such as a time limit. The original program is not changed.
//
// A pass (Passes lists them, in order) is a set of edits of the program, from large to small. All passes repeat until
// none finds anything. Values whose definition an edit removes become inputs of the function if their element type
// allows it, so that their readers stay unchanged.
package reduce
