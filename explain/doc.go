// Package explain shows how one statement of a model was compiled, and for a statement that the
// engine refuses looks for a rewrite that it accepts.
//
// In: a program and a place in it (a line, or the name of a result), and how it is
// to be compiled. Out: an Answer, which names the passes, where the operations run
// and by which rule, the tasks with the fields of their words, the constants and
// their bytes, the surfaces and operations of the descriptor, what is known of the
// numbers, and for a refusal the rule, the value, the limit and a Rewrite.
//
// Invariants: what an answer says of bytes comes from the compiler's own record (package
// provenance) and from the tasks that were written. A rewrite is offered only after zinc has
// used it: the changed program passed ir.Verify, was compiled, every operation of the
// replacement that computes runs on the engine, the simulator ran the bytes within the
// tolerance of package verify, and the interpreter gave the same for the original and the
// changed program on the same seeded inputs within that tolerance. What was tried and fell
// short is listed with the reason. The program given is not changed. The same program, options
// and seed give the same answer.
package explain
