// Package check says what a model costs on one target and where its operations run: the answer of `zinc check`, without
// the advice, budgets and pages of the command.
//
// Input: an open model, and how it is compiled. Output: a Target, which is an element of the document that
// `zinc check --json` prints.
//
// Invariants: the package writes nothing and needs no command line, so a program can contain it without the rest of
// zinc.
package check
