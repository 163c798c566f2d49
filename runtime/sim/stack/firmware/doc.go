// Package firmware models parts of the engine controller's firmware, as chapter 29 describes them. Each can be used
// alone:
//
//   - [Pool], [Queue], [Kernel]: fixed pools, bounded queues and the message
//     pumps over them, with the five task states of table 29.1;
//   - [Machine] with [ExecRules] and [ProcessRules]: the state machines of the execution loop
//     (table 29.8) and of a process slot;
//   - [Scheduler]: eight fixed priorities with credits, table 29.6;
//   - [Programs], [TaskQueues]: 144 program slots, 255 task queues;
//   - [Submit]: the registers of a hardware queue, table 29.7;
//   - [Clock], [Quiesce]: virtual time, and the software deadline of two seconds;
//   - [StatsBuffer]: listings 29.4 and 29.5, table 29.9.
//
// From messages, requests, register files and virtual time the package determines what runs, in which order, and what
// is refused, with counts.
//
// Invariants:
//
//   - Nothing grows: every object comes from a table sized when it was made, and
//     what does not fit is refused by name with the capacity. After all work is
//     done each pool is as full as at first.
//   - The same calls in the same order give the same order of events: nothing
//     reads the time of day, a map's order or a random number.
//   - Kernel, Queue, Pool, Clock and Scheduler may be used by several
//     goroutines. Everything else has one owner.
//   - No input makes it panic. A transition that its table does not list is a
//     [*TransitionError].
//
// Modelled rather than known are the capacities, the events that change a task's state, those transitions of the
// execution loop that the rules mark, the meaning of a credit (a request that a priority may have in flight; there are
// as many as its queue weight), the bits of the queue registers, and the location of a statistics buffer's running
// totals (here: outside it). Wiring into the machine, bring-up, doorbells, and dumps of faults are in other packages.
package firmware
