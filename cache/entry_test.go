package cache

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/pair"
)

// FuzzReadEntry checks that reading any file returns the pair that was written or an EntryError, and never more bytes
// than the file has.
func FuzzReadEntry(f *testing.F) {
	var key pair.Key
	copy(key[:], "a key")
	want := pair.Pair{Container: []byte("container"), Descriptor: []byte("descriptor")}
	folder := f.TempDir()
	path := entryPath(folder, key)
	if err := writeEntry(folder, key, want); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:60])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := readEntry(folder, key)
		var broken *EntryError
		switch {
		case err != nil && !errors.As(err, &broken):
			t.Errorf("the error is %v", err)
		case err == nil && len(p.Container)+len(p.Descriptor)+len(p.Summary)+88 != len(b):
			t.Errorf("%d and %d bytes of a file of %d", len(p.Container), len(p.Descriptor), len(b))
		case err == nil && reflect.DeepEqual(b, whole) && !reflect.DeepEqual(p, want):
			t.Errorf("the pair is %q", p)
		}
	})
}
