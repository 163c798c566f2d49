// Package walls holds no code: its test reads the import graph of the module
// and keeps the walls between packages that docs/ARCHITECTURE.md draws.
package walls
