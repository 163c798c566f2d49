// Package cost estimates what tasks and dispatches take.
//
// From a typed task and the table of its target it computes the multiply-accumulates, the bytes of DMA and of L2, the
// resulting cycles and time, and the bottleneck: products, DMA or L2. It also has the stages of a dispatch, where most
// small programs spend their time, and the transfer of inputs and outputs.
//
// Invariants: an estimate follows from the task's registers alone, so it works for programs of other compilers too;
// times are whole nanoseconds and their sums are exact; the largest term is the bottleneck, the earlier one of equals.
// Every constant is stated once, with its source (Constants).
//
// An estimate is an ordering, not a promise. The constants of Chips are fitted to published times (Points), and the
// error of the estimates of points that were left out of the fit is the Band of a call. Work on the CPU is in no
// estimate of tasks: CPU estimates it apart and coarsely, to choose where operations run.
package cost

//go:generate go run ./fit -write .
