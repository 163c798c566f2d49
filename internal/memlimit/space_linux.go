package memlimit

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// leastSpace is the address space that a process is taken to have left at least.
const leastSpace = 64 << 20

// addressSpace returns what the limit of the process's address space (ulimit -v) leaves beside what is mapped: Go maps
// more than 1 GiB before anything is allocated.
func addressSpace() (uint64, error) {
	var space unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &space); err != nil {
		return 0, err
	}
	return left(uint64(space.Cur), mapped()), nil
}

// left returns what a limit of address space leaves.
func left(limit, mapped uint64) uint64 { return max(limit-min(mapped, limit), leastSpace) }

// mapped returns how many bytes the process has mapped, 0 for unknown.
func mapped() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _, _ := bytes.Cut(b, []byte(" "))
	n, err := strconv.ParseUint(string(pages), 10, 64)
	if err != nil {
		return 0
	}
	return n * uint64(os.Getpagesize())
}
