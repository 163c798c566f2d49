// Package dump prints what is in a file, as text or as JSON.
//
// In: the path of a file or of a model's folder, or bytes; and Options that choose parts,
// the form and what is added. KindOf detects a file's kind from its content: a container,
// a descriptor, a firmware container, a record stream, register images, tasks as text, a
// debug database, a weight file, an array, a network description or MIL text. Out: text or
// JSON, written as it is made.
//
// What always holds: equal files give equal output. A file that is cut off or broken is
// printed as far as it can be read, and the error says at which byte and why it ends. JSON
// is complete in every case, with the faults in it. No control character of a file reaches
// the text. docs/dump.md describes the JSON.
package dump
