//go:build unix

package reduce

import (
	"os/exec"
	"syscall"
)

// own gives a command a process group of its own, all of which ends with it: a
// script's children would go on otherwise.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
