package pair_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
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

// TestKeysHaveTheProgram makes two keys: the program that runs is one of the files whose SHA-256 is in them, and that
// SHA-256 is asked for once.
func TestKeysHaveTheProgram(t *testing.T) {
	model := filepath.Join(t.TempDir(), "model.mil")
	check(t, os.WriteFile(model, []byte("no weights"), 0o666))
	own, err := os.Executable()
	check(t, err)
	program, err := os.Stat(own)
	check(t, err)
	programs, models := 0, 0
	sum := func(ctx context.Context, path string) (string, error) {
		info, err := os.Stat(path)
		check(t, err)
		if os.SameFile(info, program) {
			programs++
		} else {
			models++
		}
		return pair.HashFile(ctx, path)
	}
	first, err := pair.NewKey(t.Context(), model, "", pair.Options{}, sum)
	check(t, err)
	again, err := pair.NewKey(t.Context(), model, "", pair.Options{}, sum)
	check(t, err)
	if first != again || programs > 1 || models != 2 {
		t.Errorf("keys %v and %v after %d looks at the program and %d at the model, want 1 and 2", first, again,
			programs, models)
	}
}
