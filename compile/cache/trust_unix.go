//go:build unix

package cache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// distrust returns why others may have written to the folder that info describes, "" if they may not.
func distrust(info fs.FileInfo) string {
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Sprintf("its mode %04o lets others write to it", mode)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int64(s.Uid) != int64(os.Geteuid()) {
		return fmt.Sprintf("it belongs to user %d", s.Uid)
	}
	return ""
}
