//go:build unix

package cache

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFoldersThatOthersWriteToAreRefused forges an entry with a valid checksum in a folder that others may write to.
func TestFoldersThatOthersWriteToAreRefused(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	own := Store{Folder: folder}
	must(t, own.Put(key(1), pairOf(1, 1000)))
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm()&0o022 != 0 {
		t.Errorf("a new folder has mode %v, %v", info.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o777, 0o775, 0o757, 0o777 | os.ModeSticky} {
		must(t, os.Chmod(folder, mode))
		for _, s := range []Store{{Folder: folder}, {Folder: folder, Trust: true}} {
			_, got := s.Get(key(1))
			_, verified := s.Verify(key(1))
			put := s.Put(key(2), pairOf(2, 1000))
			for what, err := range map[string]error{"get": got, "verify": verified, "put": put} {
				refused := errors.As(err, new(*TrustError))
				if refused == s.Trust || s.Trust && err != nil {
					t.Errorf("mode %v, trust %v: %s returns %v", mode, s.Trust, what, err)
				}
			}
		}
	}
	must(t, os.Chmod(folder, 0o755))
	if _, err := own.Get(key(1)); err != nil {
		t.Error(err)
	}
}

func TestAFolderOfAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	s := Store{Folder: t.TempDir()}
	must(t, s.Put(key(1), pairOf(1, 1000)))
	must(t, os.Chown(s.Folder, 12345, -1))
	if _, err := s.Get(key(1)); !errors.As(err, new(*TrustError)) {
		t.Errorf("error %v, want a *TrustError", err)
	}
}
