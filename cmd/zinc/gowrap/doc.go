// Package gowrap writes the source of Go packages that embed a compiled pair.
//
// In: the names of a package and its files, and the functions of the pair with their
// ports. Out: one formatted Go file.
//
// The source compiles, whatever the names in the model are. Each function and port has one exported
// identifier, and no identifier is used twice. The same input gives the same bytes.
package gowrap
