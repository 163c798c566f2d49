package target

// Device addresses of a program. The packages of the container format and of address translation define these numbers
// for themselves, because they must not depend on this package.
const (
	// AddressBytes are the addresses of a container, 32 bits from its base
	// 0x30000000 on: scratch, the surfaces of all procedures, tasks and constants
	// share them.
	AddressBytes = 1<<32 - 0x3000_0000
	// ClientBytes is the address space of a client, 3.5 GiB, the maximum size of a buffer that a
	// client passes to the runtime.
	ClientBytes = 0xE000_0000
	// ScratchBytes is the maximum scratch memory of a container: the compiler's
	// --bss-limit of listing 23.4.
	ScratchBytes = 3221225472
	// MemoryCacheBytes is the size of the memory cache, the compiler's --memcache-size of the same listing.
	MemoryCacheBytes = 4194304
	// LoadTasks is the maximum number of tasks in a container, over all procedures: what a stream of records describes.
	// Each procedure has at most Table.MaxTasks.
	LoadTasks = 1 << 20
)
