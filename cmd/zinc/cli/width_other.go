//go:build !unix || aix || solaris || illumos

package cli

import "os"

// columns returns the width of a terminal, 0 if it is not known.
func columns(*os.File) int { return 0 }
