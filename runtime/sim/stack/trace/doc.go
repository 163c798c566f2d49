// Package trace records the steps of a dispatch in the layers of the simulated stack: one event per step, in order, at
// virtual times.
//
// The layers emit events through a [Tracer]. The events are written as a Chrome trace file ([WriteChrome], for Perfetto
// and chrome://tracing) or as text ([WriteText]).
//
// Invariants: a nil *Tracer ignores events; events get consecutive numbers even if several goroutines emit them; the
// output depends only on the events, so equal runs write equal bytes.
package trace
