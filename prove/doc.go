// Package prove compares a pair with the program that it was compiled from over a prime field: it runs both once on
// random elements and compares the results, which are equal or not. There is no tolerance.
//
// In: a pair that package sim has opened, and the functions of the intermediate form that it must compute. Out: for
// each output whether all of its elements are equal, else the first that is not, with the task that wrote it and its
// address.
//
// The bytes of the pair run as package engine runs them, over the field: registers, addresses, strides, tiles, lanes
// of coefficients, L2, casts and the order of all of it are those of the ordinary simulation. A constant of fp16 is
// an exact element, so that its packing and its place count to the last bit. What rounds does not round. A lookup
// table is the function that it approximates, which is recognised by its values; docs/prove.md has the list of
// identities.
//
// Nothing of the compiler is imported: not its passes, nor its lowering, nor the packing of constants.
package prove
