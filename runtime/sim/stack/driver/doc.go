// Package driver is the kernel driver of the engine and its ABI: the device, its three user clients, the selectors with
// their exact sizes, and the host's side of the firmware (bring-up, one command in flight, deadlines, recovery).
//
// Its inputs are what a task passes to the kernel: a user-client type, a selector with its argument block, bytes of its
// address space, surfaces. Its outputs are return codes, replies, completions at a wake port, commands in the
// firmware's rings, stores into its registers, and trace events.
//
// Invariants: a selector runs only if all four sizes equal the sizes in its dispatch record, which is read from bytes;
// entitlements are read once, when a client is created; a client can only use programs of its own identity; one
// firmware command is in flight at a time, and the most urgent waiting one is next; if a lower layer fails, the caller
// gets a return code or a correct result, and the device remains usable. Invalid bytes never cause a panic. All methods
// may be called from several goroutines. There are no background goroutines: the goroutine that finds the command gate
// free works through the queue.
//
// Sizes, selectors and offsets come from tables 27.1 to 27.9 and listings 27.1 to 27.6; the rows of every table of this
// package name their source, or "modelled" if there is none.
package driver
