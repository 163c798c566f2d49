//go:build unix

package toolchain

import (
	"os/exec"
	"syscall"
)

// own makes the child the first of a process group, which is what is killed, and has it
// end with this process where the system can do that.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// end kills what the child left behind in its group.
func end(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
