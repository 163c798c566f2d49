// Package gowrap writes the source of Go packages that embed a compiled pair.
//
// In: the names of a package and its files, and the functions of the pair with their
// ports. Out: one formatted Go file.
//
// What always holds: the source compiles, whatever the names in the model are; each
// function and port has one identifier, exported, and none is used twice; the same
// input gives the same bytes.
package gowrap
