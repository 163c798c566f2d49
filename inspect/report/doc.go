// Package report writes the results of a compilation: placement, tasks, sizes and estimates.
//
// It takes a report of package compile, the path of the model's text, and budgets. It writes the report as text, JSON,
// CSV (one line per operation or per function), HTML, Markdown, SARIF, a profile for pprof, a trace for Perfetto or a
// graph for Model Explorer, and the exceeded budgets, each with its largest contributors.
//
// Invariants: every format shows the same report and adds nothing to it. The
// lines of the CSV add up to the summary, column by column; what belongs to no
// operation (the dispatches themselves, padding between constants) has lines of
// its own. The HTML is one file that refers to nothing outside
// it; its policy lets its own script run and no other. The same report gives the same bytes.
package report
