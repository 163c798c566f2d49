// Package unbuild writes programs of the intermediate representation as MIL text, the reverse of package build.
//
// Input: a program. Output: a text, and the constants that are in its weight file because they are too long for the
// text.
//
// Invariants: build returns an equal program from the text and the weight file. Constants are not copied.
package unbuild
