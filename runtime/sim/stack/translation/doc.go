// Package translation models the address-translation unit between the engine and memory: 16 KiB pages in two levels, an
// aperture of 3.5 GiB for each client, and the window through which the firmware sees device addresses.
//
// Each client has an address space (Context). Host buffers are mapped into it with a usage code and get device
// addresses; for a device address that a task uses, the unit returns the bytes, or a *Fault with stream, address and
// task for an access that no page allows. It can trace its steps.
//
// Invariants: an address translates only through the pages of one client, so no client can access another's buffer; a
// mapping begins on a page and ends inside the aperture; the first page is never mapped; a mapping in use (pinned) is
// never evicted; a buffer's last page ends where the buffer ends, so accesses beyond it fault; tables grow with the
// number of mapped pages, not with the size of an address. All methods may be called from several goroutines; callers
// must prevent races on the bytes of a buffer.
//
// The chapters and the public decoding document the page size, the aperture below 0xE0000000, the leaf word, the usage
// codes, and the rebase with its high half. Modelled are 2048 leaves per table (one page of eight-byte words), sixteen
// streams, first-fit placement, and the eviction of contexts and idle mappings in the order of their last use.
package translation
