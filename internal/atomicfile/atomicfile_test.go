package atomicfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/internal/filename"
)

// contents returns the folder's files by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, e := range es {
		if b, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil {
			m[e.Name()] = string(b)
		}
	}
	return m
}

func want(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	got := contents(t, dir)
	if len(got) != len(files) {
		t.Errorf("folder holds %q, want %q", got, files)
	}
	for n, c := range files {
		if got[n] != c {
			t.Errorf("%s holds %q, want %q", n, got[n], c)
		}
	}
}

// pair returns a folder with file a containing "old a" and, with two, b containing
// "old b"; and the files that replace them.
func pair(t *testing.T, two bool) (dir string, a, b File) {
	dir = t.TempDir()
	put(t, filepath.Join(dir, "a"), "old a")
	if two {
		put(t, filepath.Join(dir, "b"), "old b")
	}
	return dir, Bytes(filepath.Join(dir, "a"), []byte("new a")), Bytes(filepath.Join(dir, "b"), []byte("new b"))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestWriteReplacesFilesAndKeepsTheirMode(t *testing.T) {
	dir, a, b := pair(t, false)
	if err := Write(context.Background(), a, b); err != nil {
		t.Fatal(err)
	}
	want(t, dir, map[string]string{"a": "new a", "b": "new b"})
	if info, err := os.Stat(a.Path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode of the replaced file: %v, %v, want that of the old one", info.Mode(), err)
	}
}

func TestFailingContentsChangeNoFile(t *testing.T) {
	dir, a, b := pair(t, true)
	broken := errors.New("broken")
	b.Write = func(w io.Writer) error { io.WriteString(w, "half"); return broken }
	if err := Write(context.Background(), a, b); !errors.Is(err, broken) || !strings.Contains(err.Error(), b.Path) {
		t.Errorf("error %v, want broken, with the path", err)
	}
	want(t, dir, map[string]string{"a": "old a", "b": "old b"})
}

func TestCancelingChangesNoFile(t *testing.T) {
	for _, when := range []string{"before", "during"} {
		dir, a, b := pair(t, true)
		ctx, cancel := context.WithCancel(context.Background())
		if when == "before" {
			cancel()
		}
		write := b.Write
		b.Write = func(w io.Writer) error { cancel(); return write(w) }
		if err := Write(ctx, a, b); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want cancelled", when, err)
		}
		want(t, dir, map[string]string{"a": "old a", "b": "old b"})
	}
}

// TestFailedRenameRestoresOtherFiles makes the rename of the second file fail: the first
// one must be restored, or removed if it did not exist.
func TestFailedRenameRestoresOtherFiles(t *testing.T) {
	defer func() { rename, link = os.Rename, os.Link }()
	broken := errors.New("broken")
	for _, links := range []bool{true, false} {
		for _, old := range []map[string]string{{"a": "old a", "b": "old b"}, {"a": "old a"}, {"b": "old b"}, {}} {
			dir := t.TempDir()
			for n, c := range old {
				put(t, filepath.Join(dir, n), c)
			}
			link = os.Link
			if !links {
				link = func(from, to string) error {
					if _, err := os.Lstat(from); err != nil {
						return err
					}
					return errors.New("no links here")
				}
			}
			rename = func(from, to string) error {
				if filepath.Base(to) == "b" && strings.HasSuffix(from, ".tmp") {
					if c, err := os.ReadFile(from); err == nil && string(c) == "new b" {
						return broken
					}
				}
				return os.Rename(from, to)
			}
			err := Write(context.Background(), Bytes(filepath.Join(dir, "a"), []byte("new a")),
				Bytes(filepath.Join(dir, "b"), []byte("new b")))
			if !errors.Is(err, broken) {
				t.Errorf("links %v, %v: error %v, want broken", links, old, err)
			}
			want(t, dir, old)
		}
	}
}

func TestWriteRefusesTargetsThatAreNotFiles(t *testing.T) {
	dir, a, _ := pair(t, true)
	for _, c := range []struct {
		path, want string
	}{
		{dir, "folder"},
		{os.DevNull, "not a regular file"},
		{a.Path, "twice"},
		{filepath.Join(dir, "a", "x"), "x"},
		{filepath.Join(dir, "none", "deep", "\x00"), "none"},
	} {
		err := Write(context.Background(), a, Bytes(c.path, nil))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.path, err, c.want)
		}
	}
	want(t, dir, map[string]string{"a": "old a", "b": "old b"})
}

func TestWriteMakesFoldersUnlessItFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "deep", "x")
	broken := errors.New("broken")
	bad := File{Path: filepath.Join(dir, "new", "y"), Write: func(io.Writer) error { return broken }}
	if err := Write(context.Background(), Bytes(path, nil), bad); !errors.Is(err, broken) {
		t.Errorf("error %v, want broken", err)
	}
	s, err := Stage(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder in which nothing was written: error %v, want none such", err)
	}
	if err := Write(context.Background(), Bytes(path, []byte("text"))); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestWriteKeepsLinks(t *testing.T) {
	dir, _, _ := pair(t, false)
	at := filepath.Join(dir, "link")
	if err := os.Symlink("a", at); err != nil {
		t.Skipf("no symbolic links: %v", err)
	}
	if err := Write(context.Background(), Bytes(at, []byte("new a"))); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(at); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	want(t, dir, map[string]string{"a": "new a", "link": "new a"})
}

// TestWriteRemovesWhatKilledWritersLeft leaves temporary files of the target and files with similar names: only the
// former may go, and of them only those that no writer has locked.
func TestWriteRemovesWhatKilledWritersLeft(t *testing.T) {
	if !locks {
		t.Skip("this system keeps temporary files for an hour")
	}
	dir, a, b := pair(t, true)
	keep := map[string]string{"a": "new a", "b": "new b"}
	for _, name := range []string{
		".a.ABCDEFGHI.tmp", ".a.ABCDEFGHIJK.tmp", ".a.abcdefghij.tmp", ".a.ABCDEFGHIJ", "a.ABCDEFGHIJ.tmp",
		".aa.ABCDEFGHIJ.tmp", ".c.ABCDEFGHIJ.tmp", ".a.b.ABCDEFGHIJ.tmp",
	} {
		put(t, filepath.Join(dir, name), name)
		keep[name] = name
	}
	put(t, filepath.Join(dir, ".a.ABCDEFGHIJ.tmp"), "half")
	put(t, filepath.Join(dir, ".a.ABCDEFGHI2.tmp"), "more")
	put(t, filepath.Join(dir, ".b.7654323234.tmp"), "half")
	live, err := create(b.Path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	keep[filepath.Base(live.Name())] = ""
	if err := os.Mkdir(filepath.Join(dir, ".a.ABCDEFGHIK.tmp"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := Write(context.Background(), a, b); err != nil {
		t.Fatal(err)
	}
	want(t, dir, keep)
	if _, err := os.Stat(filepath.Join(dir, ".a.ABCDEFGHIK.tmp")); err != nil {
		t.Errorf("a folder was removed: %v", err)
	}
}

// TestConcurrentWritersKeepEachOthersFiles writes the same two files from several goroutines: no writer may take the
// files of another for abandoned, and none is left at the end.
func TestConcurrentWritersKeepEachOthersFiles(t *testing.T) {
	dir, a, b := pair(t, true)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if err := Write(context.Background(), a, b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := Write(context.Background(), a, b); err != nil {
		t.Error(err)
	}
	want(t, dir, map[string]string{"a": "new a", "b": "new b"})
}

// TestLongNames replaces two files whose names are as long as a file system takes them and differ in the last byte.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	a, b := strings.Repeat("n", filename.Max-1)+"a", strings.Repeat("n", filename.Max-1)+"b"
	for _, text := range []string{"old", "new"} {
		err := Write(context.Background(), Bytes(filepath.Join(dir, a), []byte(text+" a")),
			Bytes(filepath.Join(dir, b), []byte(text+" b")))
		if err != nil {
			t.Fatal(err)
		}
		want(t, dir, map[string]string{a: text + " a", b: text + " b"})
	}
	if temp := filepath.Base(beside(filepath.Join(dir, a))); len(temp) > filename.Max || !isBeside(temp, a) ||
		isBeside(temp, b) {
		t.Errorf("the temporary file of %q is %q", a, temp)
	}
}
