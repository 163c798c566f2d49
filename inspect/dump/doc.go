// Package dump prints what is in a file, as text or as JSON.
//
// It takes the path of a file or of a model's folder, or bytes, and Options that choose
// parts and the format. KindOf detects a file's kind from its content: a container, a
// descriptor, a firmware container, a record stream, register images, tasks as text, a
// debug database, a weight file, an array, a network description or MIL text.
//
// Invariants: equal files give equal output. A truncated or corrupt file is printed as far
// as it can be read, and the error names the byte where it ends and the reason. JSON is
// always complete and includes the faults. Control characters of a file never reach the
// text. docs/dump.md describes the JSON.
package dump
