//go:build unix && !linux

package procgroup

import "syscall"

// endWithParent does nothing: the child continues if this process is killed.
func endWithParent(*syscall.SysProcAttr) {}
