// Package walls holds no code: its test keeps what holds for every package
// (a name that says what is inside, a doc comment, no cgo) and that the engine
// reaches no rule of the compiler, not even by way of another package.
package walls
