//go:build !unix || aix || solaris || illumos

package atomicfile

import (
	"os"
	"time"
)

// locks reports that files cannot be locked while they are renamed.
const locks = false

// staleAfter is the age from which a temporary file is abandoned: no write takes an hour.
const staleAfter = time.Hour

func lock(*os.File) {}

// removeOwnerless removes the file at path if it is too old to be in use.
func removeOwnerless(path string) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) >= staleAfter {
		os.Remove(path)
	}
}
