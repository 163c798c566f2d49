//go:build unix && !linux

package toolchain

import "syscall"

// endWithParent leaves the child as it is: it runs on when this process is killed.
func endWithParent(*syscall.SysProcAttr) {}
