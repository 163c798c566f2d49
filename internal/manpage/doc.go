// Package manpage writes the manual pages of a tree of commands.
//
// In: the root of the tree, as the command line runs it. Out: one page a command, in
// the man macros of roff.
//
// What always holds: a page has every flag that the command's help has, the same
// tree gives the same bytes, and no text of the tree is taken for a request of roff.
package manpage
