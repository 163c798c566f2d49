// Package driver is the kernel driver of the engine and its ABI: the device, its
// three user clients, the selectors with their exact sizes, and the host's side
// of the firmware (bring-up, one command in flight, deadlines, recovery).
//
// In: what a task hands the kernel (a user-client type, a selector with its
// argument block, bytes of its address space, surfaces). Out: return codes,
// replies, completions at a wake port, commands in the firmware's rings, stores
// into its registers, and events of a trace.
//
// Invariants: a selector runs only when all four of its sizes are those of
// its dispatch record, which is read from the record's bytes; entitlements are
// read once, when a client is made; a client reaches programs of its own identity
// alone; one firmware command is in flight at a time, and of those that wait the
// most urgent goes first; whatever goes wrong below, the caller gets a return
// code or a right result, and the device can be used again. No bytes make it
// panic. All methods may be called from several goroutines. No goroutine runs in
// the background: whoever finds the command gate free works through the queue.
//
// Sizes, selectors, offsets that tables 27.1 to 27.9 and listings 27.1 to 27.6
// state are theirs; the rows of every table of this package name their source,
// "modelled" where none states it.
package driver
