package cache

import (
	"io/fs"
	"syscall"
	"time"
)

// identity identifies a file and its contents without reading them. Changing the contents changes it, unless the clock
// of the file system has not advanced since.
func identity(info fs.FileInfo) (string, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	changed := statusTime(info)
	return identify(int64(s.Dev), int64(s.Ino), info.Size(), info.ModTime().UnixNano(), changed.UnixNano()), true
}

// statusTime is the time of the last change of a file's contents or status.
func statusTime(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(int64(s.Ctim.Sec), int64(s.Ctim.Nsec))
	}
	return info.ModTime()
}
