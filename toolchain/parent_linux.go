package toolchain

import "syscall"

// endWithParent has the kernel kill the child when the thread that started it ends, as it
// does when this process is killed.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
