package memlimit

import (
	"bytes"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// machine returns the bytes of memory that this process can use: those of the machine, of its control group or of its
// address space, whichever are fewest; 0 for unknown.
func machine() uint64 {
	n := uint64(math.MaxUint64)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		n = uint64(info.Totalram) * uint64(info.Unit)
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if b, err := os.ReadFile(file); err == nil {
			if group, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64); err == nil && group > 0 {
				n = min(n, group)
			}
		}
	}
	var space unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &space) == nil && space.Cur > 0 {
		n = min(n, uint64(space.Cur))
	}
	if n == math.MaxUint64 {
		return 0
	}
	return n
}
