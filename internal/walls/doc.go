// Package walls contains only tests of rules for the whole module: every package has
// a descriptive name and a doc comment and does not use cgo; the engine does not
// depend on any rule of the compiler, not even indirectly; and code follows the rules
// of style that gofmt does not check.
package walls
