//go:build !unix

package procgroup

import "os/exec"

// Own leaves the command as it is: the end of its context ends the process alone.
func Own(*exec.Cmd) {}

// End does nothing.
func End(*exec.Cmd) {}
