// Package protocol is the command protocol between host and firmware: the 93 dispatched identifiers in both numberings,
// the header, every body with its bounds, the ring endpoints, the cache-request family, notifications and the back
// channel.
//
// Its inputs are bytes that a host posts to a bound endpoint, the firmware's table of loaded programs (Programs), and
// notifications of the firmware. Its outputs are decoded, validated messages for the firmware to run, notifications for
// the host, counts of refused and dropped messages, and errors with the byte offset, the field, its value and the
// limit.
//
// Invariants: every command is handled, or refused and counted, as its row in Rows says; nothing beyond the length of a
// message is decoded, and allocations are bounded by it; a decoded message encodes to the same bytes; an unbound
// endpoint accepts nothing; the timestamps of a cache request increase; an invalidated handle never names a later
// request; queues and pools are bounded and report when they are full. A Controller and its parts may be used from
// several goroutines.
//
// There are two numberings. Logger is the contiguous 0x00 to 0x5c of the firmware's log; Wire is the packed enum, which
// the execution loop's compare tree reads. There are also two header layouts: the header of table 30.1 on the control
// channel (Header), and the header of the debug line on the execution loop's channel (LoopHeader).
//
// What no source states is marked as modelled: the order of fields in bodies that are known only from checks, the sizes
// of buffer descriptor, custom bar and copy container, the numbers of endpoint, buffer and bar types, the depth of
// rings and pools, and the bodies of commands that are known only by name.
package protocol
