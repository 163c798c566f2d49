// Package exact evaluates functions of the intermediate form over the prime field of package field, by the definition
// of each operation: what engine.Exact is to the tasks of a program, it is to the program.
//
// In: functions with known shapes, and elements for their parameters. Out: elements for their results. Nothing rounds.
// Sums of products are exact, or a form of package field stands for long ones; a function that is no polynomial is a
// random one with the laws of that package. An operation without a definition is a random function of its operands.
//
// Meanings says what the constants and the lookup tables of a program stand for, since the lowering of it may round
// numbers and approximate functions; docs/prove.md has the list.
//
// It imports nothing from the compiler: neither its passes, nor its lowering, nor the packing of constants.
package exact
