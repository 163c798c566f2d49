// Package node describes an object, such as a file's headers, as a tree that text and JSON are written from.
//
// The reader of a format describes what it read once: a row states the keys of its values, which are those in JSON,
// together with the line that the text has. The package imports no other package of zinc, so that every reader may
// import it.
package node
