// Package jsonform writes JSON in the format that all of zinc's output has.
//
// It takes a value for encoding/json, or pieces of a document (Stream), and writes
// JSON indented by two spaces and ended by a newline. "<", ">" and "&" are not
// escaped, because the output is not embedded in HTML.
package jsonform
