// Package passes rewrites a program step by step until every operation has a place, engine or CPU, and the operations
// are in steps that one dispatch or one CPU call runs.
//
// In: an ir.Program as the front end built it. Out: a State whose function has constants folded, dead code removed,
// ranks and epilogues canonicalised, every operation placed with a reason, and whose Partitions are the order of
// execution.
//
// Invariants: List is the only list of passes, with the reason for each one's place in the order; the verifier accepts
// the program between any two of them; positions in the source survive; nothing depends on map order. The package knows
// no lowering rule: Options.Accept and Options.CanFuse report what the engine accepts.
package passes
