//go:build !unix

package procgroup

import "os/exec"

// Own does nothing: the end of the command's context kills only its own process.
func Own(*exec.Cmd) {}

// End does nothing.
func End(*exec.Cmd) {}
