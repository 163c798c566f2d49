// Package compare reports the differences between two models, two compilations of one model, or two compiled pairs, and
// the effects of each.
//
// A Side is a model with its compile options (Open), compiled by this zinc or by another executable (package
// toolchain), or a pair or container (OpenPair). The Result of comparing two sides is a list of Changes, each at one
// level of Levels: settings, the statements of the text, the values of its constants, on request the program after each
// pass, the program after all passes, the limits of the targets, the placement of the operations, tasks and their
// words, packed constants, container, descriptor chain, and on request the outputs of a run. Bytes lists byte ranges
// with their owners instead.
//
// Parts are aligned by their origin (package provenance) or by their structure: names of statements, lowering rules,
// names of ports. Offsets and indices are never used: a task that only moved is the same task.
//
// A change of the settings, of a statement or of a constant is a cause. A difference at a lower level that came from a
// changed statement is listed as an effect of that change. Differences that no single cause explains are gathered in
// one change (Together); without a cause, each difference is a change of its own.
//
// Invariants: each line of the programs after the passes is in memory only once. Two equal sides have no changes, and a
// Result without changes means equal bytes of the pair, except for those that depend on file names and on the
// container's hash. Time and memory are linear in the two sides, with a logarithmic factor where orders are compared.
// The result depends on the sides alone.
//
// The position of a blob in its weight file is not a difference; its contents are. Addresses and the numbering of tasks
// follow from sizes and order: tasks that differ only in addresses are counted in one change, and so are CPU programs
// that differ only in source lines. Tasks whose fields are unknown are compared word by word, as Coverage.Note then
// says.
package compare
