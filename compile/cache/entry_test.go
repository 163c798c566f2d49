package cache

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
)

// FuzzReadEntry checks that reading any file returns the pair that was written or an EntryError.
func FuzzReadEntry(f *testing.F) {
	var key pair.Key
	copy(key[:], "a key")
	want := pair.Pair{Container: []byte("container"), Descriptor: []byte("descriptor"), Summary: "summary"}
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
	for _, at := range []int{40, 48} { // the lengths: other lengths divide the same bytes into another pair
		other := bytes.Clone(whole)
		other[at]--
		f.Add(other)
		other = bytes.Clone(whole)
		other[at]++
		f.Add(other)
	}
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
		case err != nil && bytes.Equal(b, whole):
			t.Error(err)
		case err == nil && !reflect.DeepEqual(p, want):
			t.Errorf("the pair is %q", p)
		}
	})
}
