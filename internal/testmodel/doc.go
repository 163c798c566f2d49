// Package testmodel writes small models for the tests of several packages.
//
// Input: a kind of model and a seed.
//
// Output: MIL text, the same for the same seed.
//
// Invariants: texts of one kind differ in the values of their weights only.
package testmodel
