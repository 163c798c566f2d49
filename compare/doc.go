// Package compare says in what two models, two compilations of one model, or two
// compiled pairs differ, and what each difference does.
//
// In: two Sides, each a model with the options it is compiled with (Open), by
// this zinc or by another executable (package toolchain), or a pair or a container alone
// (OpenPair). Out: a Result: a list of Changes, each at one level of table Levels:
// settings, the statements of the text, the values of its constants, on request the
// program after each pass, the program after all of them, the limits of the targets, the
// places of the operations, tasks and their words, packed constants, container,
// descriptor chain, and on request the outputs of a run. Bytes lists byte ranges with
// their owners instead.
//
// Parts are aligned by what they came from (package provenance) or by their
// structure: names of statements, lowering rules, names of ports. Never by an offset
// or an index: a task that only moved is the same task.
//
// A change of the settings, of a statement or of a constant is a cause. What differs
// below and came from a changed statement is listed as an effect of that change, not
// as a change of its own. What no single one of several causes explains is gathered in
// one change (Together); where there is no cause each difference stands by itself.
//
// Invariants: no side has the programs after all passes in memory at once, but
// each of their lines once. Two equal sides give no change, and a Result without changes
// means equal bytes of the pair except what follows from its files' names and from
// the container's hash. Time and memory are linear in the two sides, except a
// logarithm where an order is compared. The result depends on the sides alone.
//
// Where a blob is in its weight file is not a difference; what it holds is. Addresses,
// and what numbers a task in its chain, follow from sizes and order: tasks that use
// other addresses and differ in nothing else are counted in one change, and so are
// programs for the CPU that name other lines of the source. Tasks whose fields are not
// known are compared word by word, which Coverage.Note says.
package compare
