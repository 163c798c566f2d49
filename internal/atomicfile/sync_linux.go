package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginSync makes the system begin to store n bytes of f. It is a hint: Sync reports what fails.
func beginSync(f *os.File, at, n int64) {
	unix.SyncFileRange(int(f.Fd()), at, n, unix.SYNC_FILE_RANGE_WRITE)
}
