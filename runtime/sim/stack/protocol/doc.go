// Package protocol is the command protocol between host and firmware: the 93
// dispatched identifiers in both numberings, the header, every body with its
// bounds, the ring endpoints, the cache-request family, notifications and the
// back channel.
//
// In: bytes that a host posts to a bound endpoint, what the firmware knows of
// loaded programs (Programs), and notifications that the firmware emits. Out:
// decoded, validated messages for the firmware to run, notifications for the
// host, counts of what was refused or dropped, and errors with the byte offset,
// the field, its value and the limit.
//
// Invariants: Rows is the one table, and every command is handled, or
// refused and counted, as its row says; nothing is decoded that the length does
// not cover, and nothing allocated that it does not justify; what decodes
// encodes to the same bytes; an endpoint that is not bound takes nothing;
// timestamps of a cache request rise strictly; a handle that was invalidated
// never names a later request; queues and pools are bounded and say so when
// they are full. A Controller and its parts may be used from several goroutines.
//
// Two numberings exist and both are here. Logger is the contiguous 0x00 to 0x5c
// by which the firmware renders its log; Wire is the packed enum, which the
// execution loop's compare tree reads. Two header layouts exist as well: table
// 30.1's on the control channel (Header), and on the execution loop's the one
// of its debug line (LoopHeader).
//
// What no source states is modelled and marked so where it stands: the order of
// fields in bodies known by their gates alone, the sizes of buffer descriptor,
// custom bar and copy container, the numbers of endpoint, buffer and bar types,
// the depth of rings and pools, and the bodies of commands known by name.
package protocol
