// Package opref is the reference of operations: what `zinc ops` prints and
// docs/ops.md holds.
//
// In: the operation registry of package ir, the interpreter's kernels, the lowering rules
// and the target tables. Out: rows, and their text, Markdown and JSON forms.
//
// Only headings and the words between facts are written by hand. Rows are sorted by name, forms by
// age.
package opref
