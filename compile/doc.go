// Package compile runs all stages of a compilation: passes, lowering, container and dispatch descriptor.
//
// In: an ir.Program built by package frontend, Options and a Sink. Out, to the sink: the container and the descriptor
// ready to be written, a Report of where everything went, the functions between the stages, and on request a debug
// database of what every part of the pair came from (package provenance). A compilation goes as far as its sink needs,
// and keeps nothing for itself; a Result is a sink that keeps.
//
// Invariants: the same program and options produce the same bytes for any number of workers; the pair refers to nothing
// outside itself; every operation of the program is in the report, on the engine or on the CPU with the reason; every
// pair has passed the hazard check and the checks of the container and of both loaders; one that fails is reported as a
// FaultError.
package compile
