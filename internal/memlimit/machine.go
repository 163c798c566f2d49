package memlimit

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// machine returns the bytes of memory that the process may use, 0 for unknown: the smallest of the machine's memory,
// the limits of the process's control group and of its address space.
func machine() uint64 {
	n := uint64(math.MaxUint64)
	for _, limit := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup, addressSpace} {
		if bytes, err := limit(); err == nil && bytes > 0 {
			n = min(n, bytes)
		}
	}
	if n == math.MaxUint64 {
		return 0
	}
	return n
}
