// Package compile drives a program through the house: passes, lowering,
// container and dispatch descriptor.
//
// In: an ir.Program as package frontend built it, and Options. Out: a Result,
// the container and the descriptor ready to be written, a Report of where
// everything went, and on request a debug database of what every part of the pair
// came from (package provenance).
//
// Invariants: the same program and options give the same bytes, whatever
// the number of workers; the pair refers to nothing outside itself; every
// operation of the program is in the report, on the engine or on the CPU with
// the reason; every Result has passed the checks of hazards, of the container and of
// both loaders, and a pair that does not is a FaultError.
package compile
