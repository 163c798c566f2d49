//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Own makes a command, not yet started, the first of a process group, which is what the
// end of its context kills. On Linux it also ends with the thread that starts it: the
// caller keeps that thread (runtime.LockOSThread) until the command has ended.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// End kills what a command that has ended left behind in its group.
func End(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
