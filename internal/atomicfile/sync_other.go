//go:build !linux

package atomicfile

import "os"

// beginSync does nothing: the system has no such call.
func beginSync(*os.File, int64, int64) {}
