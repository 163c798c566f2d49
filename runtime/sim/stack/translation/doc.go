// Package translation models the address-translation unit between the engine
// and memory: 16 KiB pages in two levels, an aperture of 3.5 GiB for each
// client, and the window through which the firmware sees device addresses.
//
// In: host buffers with a usage code, one address space (Context) a client, and
// device addresses that tasks use. Out: device addresses, the bytes behind
// them, a *Fault with stream, address and task for an access that no page
// allows, and a trace of the unit's steps when one is requested.
//
// Invariants: an address translates through the pages of one client
// alone, so no client reaches another's buffer; a mapping begins on a page and
// ends inside the aperture; the first page is never mapped; a mapping in use
// (pinned) is never evicted; a buffer's last page ends where the buffer ends,
// so the bytes behind it fault rather than leak; tables grow with what is
// mapped, never with the size of an address. All methods may be called from
// several goroutines; bytes in a buffer are the caller's to keep from racing.
//
// Known from the chapters and the public decoding: page size, the aperture
// below 0xE0000000, the leaf word, the usage codes, the rebase and its high
// half. Modelled, since no source states it: 2048 leaves a table (one page of
// eight-byte words), sixteen streams, first-fit placement, and that both
// contexts and idle mappings leave in the order of their last use.
package translation
