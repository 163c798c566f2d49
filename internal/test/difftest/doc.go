// Package difftest compiles programs, most of them generated, and lets judges compare each pair with its source.
//
// Input: an ir.Program and Settings, which say how it is compiled and run. Output: the compilation, and a *Finding if a
// judge disagrees. Judges is the only list of judges; to compare a pair with its source in another way, add a row.
//
// Trial draws the settings of generated program number n, Coverage counts what programs reached, and Reduce shrinks the
// program of a finding to one for the regressions: testdata/regressions has one file for each bug that was found and
// fixed, with a comment that states the rule learned from it. A test compiles and judges all of them.
//
// Invariants: the same number produces the same program, settings and answer, on any number of workers. A panic, a
// fault and a refusal of the compiler are findings like a wrong result, because every generated program is valid.
package difftest
