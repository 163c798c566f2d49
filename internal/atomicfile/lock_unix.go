//go:build unix && !aix && !solaris && !illumos

package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// locks reports that files can be locked while they are renamed.
const locks = true

// lock marks f as in use by a process, until f is closed or the process ends. A file system without locks keeps the
// file unmarked; there removeOwnerless removes nothing.
func lock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_SH) }

// removeOwnerless removes the file at path if no process has locked it. It keeps the file locked until it is removed,
// so that a process that has just created it finds it locked or gone.
func removeOwnerless(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		os.Remove(path)
	}
}
