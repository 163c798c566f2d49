package toolchain

import (
	"bytes"
	"os"
	"strconv"
)

// resident returns the resident bytes of a process, 0 of one that has ended.
func resident(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b) // in pages: all, resident, ...
	if len(f) < 2 {
		return 0
	}
	n, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0
	}
	return n * int64(os.Getpagesize())
}
