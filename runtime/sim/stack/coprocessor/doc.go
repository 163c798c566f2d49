// Package coprocessor is the engine's controller: its firmware and the engine behind registers, rings and memory, built
// from the parts in runtime/sim/stack/firmware and runtime/sim/stack/protocol (chapters 29 and 30).
//
// Its inputs are register writes of the host, messages as bytes on the rings, address spaces (Bind), and firmware
// containers in device memory. Its outputs are register values, notifications and replies, stores to host doorbells,
// the bytes that tasks write through the clients' address spaces, dumps of faults, and trace events.
//
// The host performs the bring-up (see the constants of the handshakes), the first commands and IPC_ENDPOINT_SET; then
// for each message Rings().Post, a write of 1 << BellControl or 1 << BellLoop to RegDoorbell, Run, and TakeNotification
// until there is none. After Run has returned a *Fault, the host drains Dump, holds the controller in reset (RegCPU),
// and brings it up again.
//
// Invariants:
//
//   - Each message that the firmware takes is answered by one notification: one
//     that is valid by PROGRAM_EVENT (a trigger that was accepted by
//     DATA_CHAINING_EVENT), when it has completed, with its status; any other by
//     CH_ERROR_NOTIFICATION. A
//     PROGRAM_EVENT's event is the wire identifier of the command, its header has
//     the identifiers that the command made. Data that a command asked for is
//     there (TakeReply) before its completion.
//   - Every access of the engine goes through the client's translation windows,
//     with the direction of the mapping's usage; what is kept of a translation is
//     used only while the client's address space has lost nothing. A process
//     reaches its own client's memory, and the buffers of the program that it
//     runs; the engine's L2 is cleared between clients.
//   - A call's results are those of the engine alone, bit for bit.
//   - No message and no container makes the firmware panic, hang or take more
//     memory than they have bytes for; everything comes from pools of fixed size,
//     which are full again when the work is done.
//   - The same writes, messages and faults give the same events: time is the
//     clock of Config, which a call advances by what package cost says of its
//     stages and tasks, and a stuck queue by the software deadline.
//   - A fault stops the firmware until the host has reset it; nothing of a boot
//     outlives the reset but the restart count and the dump.
//
// Run, TakeNotification, HeldUntil, CallHost and the writes that gate power or
// reset belong to one goroutine at a time; other registers, posts and reports may
// come from any.
//
// Modelled rather than known are all register offsets, the values of the wakes and the statuses; which ring is which
// named channel, and a mailbox register for completions of control commands; that a header's procedureId names the user
// of LOAD_AFPP, CREATE_PROCESS, REQUEST_PROCESS_ID and PREMAP_BUFFER; one program per container, a task queue for each,
// and the hardware queue of a call's priority; the last three words of a register block; that a call's execute order
// counts operations; how calls wait for shared events; which output of a chain feeds which input; that a target mask
// selects doorbell slots; replies on a ring of their own; and seals on the rings while an injector is present. What
// turns telemetry and the secure phase on is modelled as registers of the property channel. The commands that the
// driver serves itself have no handler here.
package coprocessor
