//go:build unix

package cache

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestEntriesKeepTheMask puts entries with masks that let others read nothing, or write.
func TestEntriesKeepTheMask(t *testing.T) {
	for mask, want := range map[int]os.FileMode{0o077: 0o600, 0o022: 0o644, 0o002: 0o644} {
		s := Store{Folder: filepath.Join(t.TempDir(), "cache")}
		old := syscall.Umask(mask)
		err, err2 := s.Put(key(1), pairOf(1, 500)), s.Put(key(2), large(2))
		syscall.Umask(old)
		must(t, err)
		must(t, err2)
		for _, path := range []string{s.Path(key(1)), s.Path(key(2)), apartPath(s.Folder, key(2))} {
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("mask %03o: mode %v of %s, %v; want %v", mask, info.Mode(), path, err, want)
			}
		}
	}
}
