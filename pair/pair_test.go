package pair_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/pair"
)

func TestPathsOfTakesContainerOrDescriptor(t *testing.T) {
	of := func(container, descriptor, debug string) pair.Paths {
		return pair.Paths{Container: container, Descriptor: descriptor, Debug: debug}
	}
	for path, want := range map[string]pair.Paths{
		"a/b.hwx":  of("a/b.hwx", "a/b.e5", "a/b.zdb"),
		"a/b.e5":   of("a/b.hwx", "a/b.e5", "a/b.zdb"),
		"b":        of("b", "b.e5", "b.zdb"),
		"b.bin":    of("b.bin", "b.bin.e5", "b.bin.zdb"),
		"b.e5.hwx": of("b.e5.hwx", "b.e5.e5", "b.e5.zdb"),
	} {
		if got := pair.PathsOf(path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
		if got := pair.PathsOf(want.Descriptor); strings.HasSuffix(path, ".hwx") && got != want {
			t.Errorf("%s: %+v, want %+v", want.Descriptor, got, want)
		}
	}
}

// TestReadReturnsWhatWriteWrote reads a pair by either name, without the debug database.
// Half a pair is an error that names the missing half, unless a container alone is
// allowed.
func TestReadReturnsWhatWriteWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.hwx")
	at := pair.PathsOf(path)
	p := pair.Pair{Container: []byte("container"), Descriptor: []byte("descriptor"), Debug: []byte("database")}
	check(t, p.Write(t.Context(), at.Descriptor))
	if b, err := os.ReadFile(at.Debug); err != nil || string(b) != "database" {
		t.Errorf("the debug database is %q, %v", b, err)
	}
	p.Debug = nil
	for _, name := range []string{at.Container, at.Descriptor} {
		for _, read := range []func(string) (pair.Pair, error){pair.Read, pair.ReadOrContainer} {
			if got, err := read(name); err != nil || !reflect.DeepEqual(got, p) || got.Alone() {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	}
	check(t, os.Remove(at.Descriptor))
	for _, name := range []string{at.Container, at.Descriptor} {
		if _, err := pair.Read(name); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), at.Container) {
			t.Errorf("%s without a descriptor: %v", name, err)
		}
	}
	if got, err := pair.ReadOrContainer(path); err != nil || string(got.Container) != "container" || !got.Alone() {
		t.Errorf("a container alone: %q, %v", got, err)
	}
	if _, err := pair.ReadOrContainer(at.Descriptor); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a descriptor that does not exist: %v", err)
	}
}
