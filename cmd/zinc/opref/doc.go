// Package opref is the reference of operations: what `zinc ops` prints and
// docs/ops.md holds.
//
// In: the sheet of operations of package ir, the interpreter's kernels, the lowering rules
// and the target tables. Out: rows, and their text, Markdown and JSON forms.
//
// What always holds: nothing here is written by hand but headings and the words
// between facts; rows stand by name, forms by age.
package opref
