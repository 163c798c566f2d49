package memlimit

import "golang.org/x/sys/unix"

// addressSpace returns the limit of the process's address space (ulimit -v).
func addressSpace() (uint64, error) {
	var space unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_AS, &space)
	return uint64(space.Cur), err
}
