// Package explain shows how one statement of a model was compiled, and for a statement that the engine refuses searches
// for a rewrite that it accepts.
//
// In: a program and a place in it (a line, or the name of a result), and how it is to be compiled. Out: an Answer,
// which names the passes, where the operations run and by which rule, the tasks with the fields of their words, the
// constants and their bytes, the surfaces and operations of the descriptor, what is known about the numbers, and for a
// refusal the rule, the value, the limit and a Rewrite.
//
// Invariants: what an answer says about bytes comes from the compiler's own record (package provenance) and from the
// tasks that were written. A rewrite is offered only after zinc has used it: the changed program passed ir.Verify and
// was compiled, every operation of the replacement that computes runs on the engine, and on the same seeded inputs the
// results of the simulator, of the interpreter, and of the interpreter on the original program agree within the
// tolerance of package verify. Rewrites that failed are listed with the reason. The program that is passed is not
// changed. The same program, options and seed give the same answer.
package explain
