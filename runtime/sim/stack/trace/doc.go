// Package trace is what the layers of the simulated stack say of a dispatch: one
// event a step, in the order in which the steps happened, at virtual times.
//
// In: events of the layers, through a [Tracer]. Out: the events, as a Chrome
// trace file ([WriteChrome], which Perfetto and chrome://tracing open) or as text
// ([WriteText]).
//
// Invariants: a nil *Tracer takes events and does nothing; events get
// consecutive numbers, whichever goroutine they come from; what is written
// follows from the events alone, so that equal runs write equal bytes.
package trace
