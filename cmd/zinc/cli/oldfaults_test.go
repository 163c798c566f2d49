package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestNewestFaultFoldersStay makes more folders of faults than are kept, and others that must stay.
func TestNewestFaultFoldersStay(t *testing.T) {
	dir := t.TempDir()
	for i := range keptFaults + 3 {
		path := filepath.Join(dir, fmt.Sprintf("%s%d", faultPrefix, i))
		if err := os.MkdirAll(filepath.Join(path, "weights"), 0o777); err != nil {
			t.Fatal(err)
		}
		made := time.Unix(int64(1000*(keptFaults+3-i)), 0) // the first is the newest
		if err := os.Chtimes(path, made, made); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(dir, faultPrefix+"file"), nil)
	if err := os.Mkdir(filepath.Join(dir, "other"), 0o777); err != nil {
		t.Fatal(err)
	}
	removeOldFaults(dir)
	for i := range keptFaults + 3 {
		_, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%s%d", faultPrefix, i)))
		if stays := err == nil; stays != (i < keptFaults) {
			t.Errorf("folder %d, counted from the newest: stays %t", i, stays)
		}
	}
	for _, name := range []string{faultPrefix + "file", "other"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
