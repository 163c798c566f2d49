package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// large is a pair whose container has a file of its own.
func large(i int) pair.Pair {
	return pair.Pair{Container: bytes.Repeat([]byte{byte(i), 1, 2, 3}, apartBytes/4), Descriptor: []byte{byte(i)}}
}

// agedPair puts a large pair whose files were last changed an hour ago.
func agedPair(t *testing.T) (s Store, container string) {
	s = Store{Folder: t.TempDir()}
	must(t, s.Put(key(1), large(1)))
	container = apartPath(s.Folder, key(1))
	past := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(container, past, past))
	if _, err := s.Entry(key(1), false); err != nil { // notices the new time
		t.Fatal(err)
	}
	return s, container
}

// flip changes one byte of a file in place.
func flip(t *testing.T, path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], 1000)
	must(t, err)
	b[0] ^= 1
	_, err = f.WriteAt(b[:], 1000)
	must(t, errors.Join(err, f.Close()))
}

func TestLargeContainersAreFiles(t *testing.T) {
	s, container := agedPair(t)
	got, err := s.Get(key(1))
	if err != nil || !reflect.DeepEqual(got, large(1)) {
		t.Errorf("got another pair, %v", err)
	}
	e, err := s.Entry(key(1), false)
	must(t, err)
	out := filepath.Join(t.TempDir(), "m.hwx")
	for range 2 {
		must(t, atomicfile.Write(context.Background(), e.Files(out)...))
	}
	written, err := pair.Read(out)
	if err != nil || !reflect.DeepEqual(written, large(1)) {
		t.Errorf("wrote another pair, %v", err)
	}
	list, err := s.List()
	if err != nil || len(list) != 1 || list[0].Size != apartBytes+apartHeader+1 {
		t.Errorf("the list is %v, %v; want one entry with the bytes of both files", list, err)
	}
	if _, err := s.Entry(key(2), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no entry: %v", err)
	}
	must(t, s.Put(key(3), pairOf(3, 500)))
	if _, err := s.Entry(key(3), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an entry with its container inside: %v", err)
	}
	must(t, s.Remove(key(1)))
	if _, err := os.Stat(container); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the container of a removed entry: %v", err)
	}
}

// TestNewContainersAreNotRead looks up an entry that was just stored: its container is not read, and a change of it is
// found.
func TestNewContainersAreNotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.hwx")
	must(t, os.WriteFile(file, large(1).Container, 0o644))
	for _, put := range []func(s Store) error{
		func(s Store) error { return s.Put(key(1), large(1)) },
		func(s Store) error {
			return s.PutFile(key(1), file, apartBytes, sha256.Sum256(large(1).Container), large(1))
		},
	} {
		s := Store{Folder: t.TempDir()}
		must(t, put(s))
		e, err := s.Entry(key(1), false)
		must(t, err)
		if racy(time.Unix(0, e.changed), time.Unix(0, e.checked)) {
			t.Errorf("a container changed at %d and written with its entry at %d is read again", e.changed, e.checked)
		}
		flip(t, e.Container)
		if _, err := s.Entry(key(1), false); !errors.As(err, new(*EntryError)) {
			t.Errorf("a container that was changed at once: %v", err)
		}
	}
}

// TestChangedContainersAreRefused changes an entry in every way that a disk or a program does by mistake.
func TestChangedContainersAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(s Store, container string)
		all    bool // found only if every byte is read
		absent bool // the entry is missing rather than corrupt
	}{
		{name: "a byte in place", change: func(_ Store, c string) { flip(t, c) }},
		{name: "a byte, with the old time", all: true, change: func(_ Store, c string) {
			info, err := os.Stat(c)
			must(t, err)
			flip(t, c)
			must(t, os.Chtimes(c, info.ModTime(), info.ModTime()))
		}},
		{name: "a shorter file", change: func(_ Store, c string) { must(t, os.Truncate(c, apartBytes-1)) }},
		{name: "a longer file", change: func(_ Store, c string) { must(t, os.Truncate(c, apartBytes+1)) }},
		{name: "another file", change: func(_ Store, c string) {
			must(t, errors.Join(os.Remove(c), os.WriteFile(c, make([]byte, apartBytes), 0o644)))
		}},
		{name: "a link", change: func(_ Store, c string) {
			must(t, errors.Join(os.Rename(c, c+"x"), os.Symlink(c+"x", c)))
		}},
		{name: "a folder", change: func(_ Store, c string) { must(t, errors.Join(os.Remove(c), os.Mkdir(c, 0o755))) }},
		{name: "no file", absent: true, change: func(_ Store, c string) { must(t, os.Remove(c)) }},
		{name: "a byte of the entry", change: func(s Store, _ string) {
			b, err := os.ReadFile(s.Path(key(1)))
			must(t, err)
			b[90] ^= 1
			must(t, os.WriteFile(s.Path(key(1)), b, 0o644))
		}},
		{name: "a shorter entry", change: func(s Store, _ string) { must(t, os.Truncate(s.Path(key(1)), 60)) }},
		{name: "the entry of another key", change: func(s Store, _ string) {
			must(t, s.Put(key(2), large(1)))
			must(t, os.Rename(s.Path(key(2)), s.Path(key(1))))
		}},
	} {
		s, container := agedPair(t)
		c.change(s, container)
		right := func(err error) bool {
			return c.absent && errors.Is(err, fs.ErrNotExist) || !c.absent && errors.As(err, new(*EntryError))
		}
		if _, err := s.Entry(key(1), false); c.all != (err == nil) || err != nil && !right(err) {
			t.Errorf("%s: by its times, the entry gives %v", c.name, err)
		}
		if _, err := s.Entry(key(1), true); !right(err) {
			t.Errorf("%s: with every byte read, the entry gives %v", c.name, err)
		}
		if _, err := s.Get(key(1)); !right(err) {
			t.Errorf("%s: Get gives %v", c.name, err)
		}
	}
}

// TestPutFileCopies stores a file that is in place already.
func TestPutFileCopies(t *testing.T) {
	dir := t.TempDir()
	s := Store{Folder: filepath.Join(dir, "cache")}
	p := large(5)
	file := filepath.Join(dir, "out.hwx")
	must(t, os.WriteFile(file, p.Container, 0o644))
	put := func(path string, n int64) error {
		return s.PutFile(key(5), path, n, sha256.Sum256(p.Container), p)
	}
	for range 2 {
		must(t, put(file, apartBytes))
	}
	if err := put(file, apartBytes+4); err == nil {
		t.Error("a file that is shorter than stated was stored")
	}
	flip(t, file)
	if got, err := s.Get(key(5)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("the file was edited in place: got another pair, %v", err)
	}
	if err := put(file, 3); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a small container: %v", err)
	}
	if err := put(filepath.Join(dir, "none"), apartBytes); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	es, err := os.ReadDir(s.Folder)
	if err != nil || len(es) != 2 {
		t.Errorf("the folder has %v, %v; want entry and container", es, err)
	}
}

// TestOutputsAreApart edits an output of an entry in place: neither another output nor the entry changes.
func TestOutputsAreApart(t *testing.T) {
	s, _ := agedPair(t)
	e, err := s.Entry(key(1), false)
	must(t, err)
	dir := t.TempDir()
	edited, other := filepath.Join(dir, "a.hwx"), filepath.Join(dir, "b.hwx")
	for _, out := range []string{edited, other} {
		must(t, atomicfile.Write(context.Background(), e.Files(out)...))
	}
	flip(t, edited)
	if p, err := pair.Read(other); err != nil || !reflect.DeepEqual(p, large(1)) {
		t.Errorf("the other output changed, %v", err)
	}
	if p, err := s.Get(key(1)); err != nil || !reflect.DeepEqual(p, large(1)) {
		t.Errorf("the entry changed, %v", err)
	}
}

// TestOrphanContainersAreCollected leaves a container without an entry, as a process that is killed between the two
// does.
func TestOrphanContainersAreCollected(t *testing.T) {
	s, container := agedPair(t)
	must(t, os.Remove(s.Path(key(1))))
	past := time.Now().Add(-2 * staleAfter)
	must(t, os.Chtimes(container, past, past))
	must(t, s.Put(key(2), large(2)))
	must(t, os.Chtimes(apartPath(s.Folder, key(2)), past, past))
	if c, err := s.Collect(1 << 30); err != nil || c.Temporary != 1 || c.Kept != 1 {
		t.Errorf("collected %+v, %v", c, err)
	}
	if _, err := s.Get(key(2)); err != nil {
		t.Errorf("the other entry: %v", err)
	}
}

// TestFileSumsAreRemembered finds the sum of a file that was not changed without reading it, and reads it after every
// change.
func TestFileSumsAreRemembered(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := Store{Folder: filepath.Join(dir, "cache")}
	path := filepath.Join(dir, "weights")
	must(t, os.WriteFile(path, make([]byte, sumBytes), 0o644))
	sums := func() int {
		l, _ := filepath.Glob(filepath.Join(s.Folder, "*"+sumSuffix))
		return len(l)
	}
	want := func(name string) {
		t.Helper()
		exact, err := pair.HashFile(ctx, path)
		must(t, err)
		for _, all := range []bool{false, true, false} {
			if got, err := s.FileSum(all)(ctx, path); err != nil || got != exact {
				t.Errorf("%s: sum %x, %v, want %x", name, got, err, exact)
			}
		}
	}
	want("a file that has just been written")
	if info, err := os.Stat(path); err != nil || sums() > 0 && racy(statusTime(info), time.Now()) {
		t.Errorf("a file that may change without notice is remembered, %v", err)
	}
	time.Sleep(50 * time.Millisecond) // past the step of the clock of files
	want("a file that rests")
	info, err := os.Stat(path)
	must(t, err)
	if id, ok := identity(info); ok {
		if sums() == 0 {
			t.Error("a file that rests is not remembered")
		}
		// What is remembered is what is used.
		s.remember(id, string(bytes.Repeat([]byte{7}, sha256.Size)))
		if got, err := s.FileSum(false)(ctx, path); err != nil || got[0] != 7 {
			t.Errorf("a file that was not changed is read: %x, %v", got, err)
		}
		must(t, os.WriteFile(s.sumPath(id), bytes.Repeat([]byte{8}, 2*sha256.Size), 0o600))
	}
	want("a damaged memory")
	flip(t, path)
	must(t, os.Chtimes(path, info.ModTime(), info.ModTime())) // the time of the status shows it
	want("a byte, with the old time")
	must(t, os.Truncate(path, sumBytes+1))
	want("a longer file")
	if got, err := s.FileSum(false)(ctx, filepath.Join(dir, "none")); err != nil || got != "" {
		t.Errorf("a missing file has sum %x, %v", got, err)
	}
}
