package target

// Device addresses of a program. The container's format and the address unit state
// these numbers for themselves, since neither knows of targets.
const (
	// AddressBytes are the addresses of a container, 32 bits from its base
	// 0x30000000 on: scratch, the surfaces of all procedures, tasks and constants
	// share them.
	AddressBytes = 1<<32 - 0x3000_0000
	// ClientBytes is the address space of a client, 3.5 GiB, which no buffer that a
	// client hands to the runtime can be larger than.
	ClientBytes = 0xE000_0000
	// ScratchBytes is the most scratch that a container may ask for: the compiler's
	// --bss-limit of listing 23.4.
	ScratchBytes = 3221225472
	// LoadTasks is the most tasks that one container may have, all procedures together:
	// a load numbers them in 16 bits.
	LoadTasks = 1 << 16
)
