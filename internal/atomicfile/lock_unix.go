//go:build unix && !aix && !solaris && !illumos

package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// locks reports that files can be locked while they are renamed.
const locks = true

// lock marks f as in use by a process, until f is closed or the process ends. A file system without locks keeps the
// file unmarked; there ownerless is false for every file.
func lock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_SH) }

// ownerless reports whether no process has locked the file at path.
func ownerless(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
