package memlimit

import (
	"cmp"
	"math"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
)

// most is the largest default, and assumed the memory of a machine that does not say how much it has.
const (
	most    = 16 << 30
	assumed = 4 << 30
)

// set is the limit that Set has set, 0 for none.
var set atomic.Int64

// has is the memory of the machine for this process, found once.
var has = sync.OnceValue(machine)

// standard is the default.
func standard() int64 { return half(has()) }

// half returns the default limit on a machine with n bytes of memory, 0 for unknown.
func half(n uint64) int64 {
	n = cmp.Or(n, assumed)
	if strconv.IntSize == 32 {
		n = min(n, math.MaxInt32) // the address space
	}
	return int64(min(n/2, most))
}

// Bytes returns the limit.
func Bytes() int64 {
	if n := set.Load(); n > 0 {
		return n
	}
	return standard()
}

// Set sets the limit, 0 for the default, and makes the garbage collector work harder when the process comes close to
// it, by default to three quarters of the memory: what the limit does not count has to fit too.
func Set(n int64) {
	set.Store(n)
	if n == 0 {
		n = standard() / 2 * 3
	}
	debug.SetMemoryLimit(n)
}
