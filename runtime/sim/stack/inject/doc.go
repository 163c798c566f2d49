// Package inject injects faults into the simulated stack, at the sites of a specification and at times that follow from
// a seed.
//
// An [Injector] is created from a specification ([Parse]) and a seed. At each passage of a site it returns the fault to
// inject, if any.
//
// Invariants: the same specification, seed and sequence of passages produce the same faults; a nil *Injector injects
// none.
package inject
