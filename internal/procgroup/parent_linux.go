package procgroup

import "syscall"

// endWithParent makes the kernel kill the child when the thread that started it ends,
// for example because this process is killed.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
