// Package difftest compiles programs, most of them generated, and lets judges compare each pair with its source.
//
// Input: an ir.Program and Settings, which say how it is compiled and run. Output: the compilation, and a *Finding if a
// judge disagrees. Judges is the one list of judges; another way to compare a pair with its source is another row.
//
// Trial draws the settings of generated program number n, Coverage counts what programs reached, and Reduce shrinks
// the program of a finding to one that a museum keeps: testdata/museum has one file for each bug that was found and
// fixed, with a comment that says which rule the bug taught. A test compiles and judges all of them.
//
// Invariants: the same number gives the same program, settings and answer, on any number of workers. A panic, a
// fault and a refusal of the compiler are findings like a wrong result, because every generated program is valid.
package difftest
