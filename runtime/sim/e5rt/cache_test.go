package e5rt_test

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/e5rt"
)

// FuzzReadEntry: any file gives the pair that was written or an EntryError, and what
// is read is as long as the file.
func FuzzReadEntry(f *testing.F) {
	var key e5rt.Key
	copy(key[:], "a key")
	pair := e5rt.Pair{Container: []byte("container"), Descriptor: []byte("descriptor")}
	folder := f.TempDir()
	path := e5rt.EntryPath(folder, key)
	check(f, e5rt.WriteEntry(folder, key, pair))
	whole := got[[]byte](f)(os.ReadFile(path))
	f.Add(whole)
	f.Add(whole[:60])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		check(t, os.WriteFile(e5rt.EntryPath(dir, key), b, 0o666))
		p, err := e5rt.ReadEntry(dir, key)
		var broken *e5rt.EntryError
		switch {
		case err != nil && !errors.As(err, &broken):
			t.Errorf("the error is %v", err)
		case err == nil && len(p.Container)+len(p.Descriptor)+88 != len(b):
			t.Errorf("%d and %d bytes of a file of %d", len(p.Container), len(p.Descriptor), len(b))
		case err == nil && reflect.DeepEqual(b, whole) && !reflect.DeepEqual(p, pair):
			t.Errorf("the pair is %q", p)
		}
	})
}
