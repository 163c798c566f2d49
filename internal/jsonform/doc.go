// Package jsonform writes JSON in the one form that all of zinc's output has.
//
// In: a value that encoding/json takes, or pieces of a document (Stream). Out: its
// JSON, indented by two spaces, with "<", ">" and "&" as they are, since it is read by
// people and programs and is not a part of a page, and a line's end behind it.
package jsonform
