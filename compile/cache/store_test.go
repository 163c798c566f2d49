package cache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/testform"
)

func key(i int) (k pair.Key) {
	copy(k[:], fmt.Sprintf("key %d", i))
	return k
}

// pairOf returns a pair whose entry takes n bytes, each of which depends on i.
func pairOf(i, n int) pair.Pair {
	body := bytes.Repeat([]byte{byte(i)}, n-entryHeader)
	return pair.Pair{Container: body[: len(body)/2 : len(body)/2], Descriptor: body[len(body)/2:]}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// age sets the time of the last use of an entry to some hours ago.
func age(t testing.TB, s Store, i, hours int) {
	t.Helper()
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	must(t, os.Chtimes(s.Path(key(i)), at, at))
}

func keys(t testing.TB, s Store) (out []string) {
	t.Helper()
	list, err := s.List()
	must(t, err)
	for _, e := range list {
		out = append(out, string(bytes.TrimRight(e.Key[:], "\x00")))
	}
	return out
}

func TestGetReturnsWhatPutStored(t *testing.T) {
	s := Store{Folder: filepath.Join(t.TempDir(), "a", "b")}
	if _, err := s.Get(key(1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder returns %v", err)
	}
	if list, err := s.List(); err != nil || list != nil {
		t.Errorf("a missing folder lists %v, %v", list, err)
	}
	if c, err := s.Collect(0); err != nil || c != (Collected{}) {
		t.Errorf("a missing folder collects %v, %v", c, err)
	}
	want := pairOf(1, 200)
	must(t, s.Put(key(1), want))
	got, err := s.Get(key(1))
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	for _, other := range []string{"readme.txt", "xy.e5cache", key(1).String() + ".E5CACHE"} {
		must(t, os.WriteFile(filepath.Join(s.Folder, other), []byte("x"), 0o666))
	}
	if got := keys(t, s); !reflect.DeepEqual(got, []string{"key 1"}) {
		t.Errorf("the list is %q", got)
	}
}

func TestCollectRemovesTheLeastRecentlyUsed(t *testing.T) {
	s := Store{Folder: t.TempDir()}
	for i := range 4 {
		must(t, s.Put(key(i), pairOf(i, 1000)))
		age(t, s, i, 10-i)
	}
	if _, err := s.Get(key(0)); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(t, s), []string{"key 0", "key 3", "key 2", "key 1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("in the order of use %q, want %q", got, want)
	}
	c, err := s.Collect(2999)
	must(t, err)
	if want := (Collected{Removed: 2, Kept: 2, RemovedBytes: 2000, KeptBytes: 2000}); c != want {
		t.Errorf("collected %+v, want %+v", c, want)
	}
	if got, want := keys(t, s), []string{"key 0", "key 3"}; !reflect.DeepEqual(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	c, err = s.Collect(0)
	must(t, err)
	if c.Removed != 2 || c.Kept != 0 || keys(t, s) != nil {
		t.Errorf("a collection down to nothing did %+v", c)
	}
}

func TestPutKeepsTheCacheWithinItsBound(t *testing.T) {
	s := Store{Folder: t.TempDir(), MaxBytes: 2500}
	for i := range 5 {
		must(t, s.Put(key(i), pairOf(i, 1000)))
		// The clock runs backwards; the latest entry stays all the same.
		age(t, s, i, 10+i)
	}
	list, err := s.List()
	must(t, err)
	if len(list) != 2 {
		t.Errorf("a cache of 2500 bytes holds %d entries of 1000", len(list))
	}
	if _, err := s.Get(key(4)); err != nil {
		t.Errorf("the entry put last: %v", err)
	}
	if err := s.Put(key(9), pairOf(9, 2501)); err == nil {
		t.Error("an entry larger than the bound was put")
	}
}

// A folder with the name of an entry is ignored.
func TestFoldersAreNotEntries(t *testing.T) {
	s := Store{Folder: t.TempDir(), MaxBytes: 2500}
	must(t, os.MkdirAll(filepath.Join(s.Path(key(7)), "inside"), 0o777))
	for i := range 3 {
		must(t, s.Put(key(i), pairOf(i, 1000)))
		age(t, s, i, 10-i)
	}
	list, err := s.List()
	must(t, err)
	if len(list) != 2 || list[0].Key != key(2) || list[1].Key != key(1) {
		t.Errorf("the cache lists %v, want the two that were put last", list)
	}
	if c, err := s.Collect(0); err != nil || c.Removed != 2 || c.Kept != 0 {
		t.Errorf("a collection down to nothing did %+v, %v", c, err)
	}
	if _, err := s.Get(key(7)); !errors.As(err, new(*EntryError)) {
		t.Errorf("the folder as an entry: %v", err)
	}
	if err := s.Put(key(7), pairOf(7, 1000)); err == nil {
		t.Error("the folder was replaced")
	}
	es, err := os.ReadDir(s.Folder)
	must(t, err)
	if len(es) != 1 {
		t.Errorf("%d files are left beside the folder", len(es)-1)
	}
}

// Abandoned temporary files of writers are removed; other foreign files are not.
func TestAbandonedTemporaryFilesAreRemoved(t *testing.T) {
	s := Store{Folder: t.TempDir()}
	name := func(k, tail string) string { return filepath.Join(s.Folder, "."+k+tail) }
	old := []string{name(key(1).String(), ".123.tmp")}
	stay := []string{name(key(2).String(), ".123.tmp"), name("notakey", ".1.tmp"), filepath.Join(s.Folder, "a.tmp"),
		name(key(3).String(), ".tmp")}
	past := time.Now().Add(-2 * time.Hour)
	for i, f := range append(append([]string{}, old...), stay...) {
		must(t, os.WriteFile(f, []byte("x"), 0o666))
		if i != 1 { // the first of stay is being written now
			must(t, os.Chtimes(f, past, past))
		}
	}
	c, err := s.Collect(1 << 20)
	must(t, err)
	if c.Temporary != len(old) {
		t.Errorf("%d files of writers removed, want %d", c.Temporary, len(old))
	}
	for _, f := range stay {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	// In a bounded cache, Put removes them too.
	must(t, os.WriteFile(old[0], []byte("x"), 0o666))
	must(t, os.Chtimes(old[0], past, past))
	s.MaxBytes = 1 << 20
	must(t, s.Put(key(4), pairOf(4, 1000)))
	if _, err := os.Stat(old[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a Put, an abandoned temporary file returns %v", err)
	}
}

// An entry that is removed while it is read is absent or complete, never corrupt. The
// test restores it by a rename, as Put does, but without waiting for the disk.
func TestGetDuringRemovalIsAbsentOrComplete(t *testing.T) {
	s := Store{Folder: t.TempDir()}
	want := pairOf(1, 1000)
	must(t, s.Put(key(1), want))
	written, err := os.ReadFile(s.Path(key(1)))
	must(t, err)
	done := make(chan error, 1)
	go func() {
		next := filepath.Join(s.Folder, "next")
		for range testform.Of(500, 4_000, 4_000) {
			err := errors.Join(s.Remove(key(1)), os.WriteFile(next, written, 0o666))
			if err = errors.Join(err, os.Rename(next, s.Path(key(1)))); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		p, err := s.Get(key(1))
		if err == nil && !reflect.DeepEqual(p, want) {
			t.Error("the entry is another's")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an entry that is removed and restored: %v", err)
		}
		select {
		case err := <-done:
			must(t, err)
			return
		default:
		}
	}
}

const processFolder = "ZINC_CACHE_TEST_FOLDER"

// TestProcessesShareOneFolder puts, gets and collects in several processes in one small
// folder: every pair is complete, and the bound holds at the end.
func TestProcessesShareOneFolder(t *testing.T) {
	const bound = 5000
	if folder := os.Getenv(processFolder); folder != "" {
		s := Store{Folder: folder, MaxBytes: bound}
		hits := 0
		for round := range 200 {
			i := round % 10
			p, err := s.Get(key(i))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				must(t, s.Put(key(i), pairOf(i, 1000)))
			case err != nil:
				t.Fatal(err)
			case !reflect.DeepEqual(p, pairOf(i, 1000)):
				t.Fatalf("entry %d is another entry's pair", i)
			default:
				hits++
			}
			if round%50 == 49 {
				if _, err := s.Collect(2000); err != nil {
					t.Fatal(err)
				}
			}
		}
		return
	}
	folder := t.TempDir()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestProcessesShareOneFolder$", "-test.count=1",
				"-test.timeout=0")
			cmd.Env = append(os.Environ(), processFolder+"="+folder)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	s := Store{Folder: folder, MaxBytes: bound}
	must(t, s.Put(key(0), pairOf(0, 1000)))
	list, err := s.List()
	must(t, err)
	total := int64(0)
	for _, e := range list {
		total += e.Size
		if _, err := s.Verify(e.Key); err != nil {
			t.Error(err)
		}
	}
	if total > bound {
		t.Errorf("the cache of %d bytes holds %d", bound, total)
	}
	if es, err := os.ReadDir(folder); err != nil || len(es) != len(list) {
		t.Errorf("%d files for %d entries, %v", len(es), len(list), err)
	}
}
