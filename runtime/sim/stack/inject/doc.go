// Package inject makes faults in the simulated stack, where a specification says
// and when a seed says.
//
// In: a specification ([Parse]) and a seed. Out: at each passage of a site, the
// fault to do there, if any.
//
// Invariants: the same specification, seed and sequence of passages give
// the same faults; a nil *Injector makes none.
package inject
