// Package cost estimates what tasks and dispatches take.
//
// In: a typed task and the table of its target. Out: the multiply-accumulates,
// the bytes of DMA and of L2, the cycles and the time that follow from them, and
// the term that binds: products, DMA or L2. Beside it the stages of a dispatch,
// which most small programs spend their time in, and the handing over of inputs and
// outputs.
//
// Invariants: an estimate follows from the task's registers alone, so it
// can be made of any program, zinc's or another's; times are whole nanoseconds
// and sums of them are exact; the largest term binds, the earlier one of equals.
// Every constant stands once, with its source (Constants).
//
// An estimate is an ordering, not a promise: Known says what it was compared with
// and how far it was off. What the CPU does is not estimated at all. MeasuredGraphs
// and Families are what it was compared with; tests compute them again.
package cost
