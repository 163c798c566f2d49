package memlimit

import "golang.org/x/sys/unix"

// machine returns the bytes of memory of the machine, 0 for unknown.
func machine() uint64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return n
}
