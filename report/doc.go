// Package report writes what a compilation gives: placement, tasks, sizes and
// estimates.
//
// In: a report of package compile, the path of the model's text, and the budgets
// that were set. Out: the report as text, JSON, CSV (a line an operation, or a
// line a function), HTML, Markdown or SARIF, and the budgets that were exceeded,
// each with its largest contributors.
//
// Invariants: every form shows the same report and adds nothing to it. The
// lines of the CSV add up to the summary, column by column; what belongs to no
// operation (the dispatches themselves, padding between constants) has lines of
// its own. The HTML is one file without scripts that refers to nothing outside
// it. The same report gives the same bytes.
package report
