// Package exact evaluates functions of the intermediate form over the prime field of package field, by the definition
// of each operation, as engine.Exact does for the tasks of a program.
//
// In: functions with known shapes, and elements for their parameters. Out: elements for their results. Nothing rounds.
// Sums of products are exact, or a form of package field replaces long ones. A function that is not a polynomial is a
// random function with the laws of that package. An operation without a definition is a random function of its
// operands.
//
// A Valuation assigns elements to the constants and functions to the lookup tables of a program, since lowering may
// round numbers and approximate functions; docs/prove.md has the list.
//
// It imports nothing from the compiler: neither its passes, nor its lowering, nor the packing of constants.
package exact
