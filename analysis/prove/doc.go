// Package prove compares a pair with the program that it was compiled from over a prime field: it runs both once on
// random elements and compares the results exactly, without a tolerance.
//
// In: a pair that package sim has opened, and the functions of the intermediate form that it must compute. Out: for
// each output, whether all of its elements are equal; if not, the first that differs, with the task that wrote it and
// its address.
//
// Package engine runs the bytes of the pair over the field: registers, addresses, strides, tiles, lanes of
// coefficients, L2, casts and their order are the same as in the ordinary simulation. A constant of fp16 is an exact
// element, so its packing and its position are compared to the last bit. Operations that round do not round here. A
// lookup table is the function that it approximates, which is recognised by its values; docs/prove.md has the list of
// identities.
//
// It imports nothing from the compiler: neither its passes, nor its lowering, nor the packing of constants.
package prove
