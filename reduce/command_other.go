//go:build !unix

package reduce

import "os/exec"

// own leaves a command as it is: ending it ends what it started only where the
// system sees to that.
func own(*exec.Cmd) {}
