//go:build unix

package procgroup

import (
	"os/exec"
	"syscall"
)

// Own makes a command that has not started the leader of a process group. The end of
// its context kills the group. On Linux the command also ends with the thread that
// starts it: the caller must keep that thread (runtime.LockOSThread) until the command
// has ended.
func Own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// End kills the remaining processes in the group of a command that has ended.
func End(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
