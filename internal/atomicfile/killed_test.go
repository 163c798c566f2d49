//go:build unix && !aix && !solaris && !illumos

package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// killedEnv is the environment variable that makes TestKilledWriter end its own process: the stage and the folder.
const killedEnv = "ZINC_TEST_KILLED"

// stages are the points at which a writer of files a and b is killed.
var stages = []string{"staged", "half written", "written", "read back", "before the other file", "in the other file"}

// TestKilledWriter is the process that TestKilledWritersLeaveOldFiles kills.
func TestKilledWriter(t *testing.T) {
	var stage int
	var dir string
	if _, err := fmt.Sscanf(os.Getenv(killedEnv), "%d %s", &stage, &dir); err != nil {
		t.Skip("not started by TestKilledWritersLeaveOldFiles")
	}
	reach := func(s int) {
		if s == stage {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	a := filepath.Join(dir, "a")
	s, err := Stage(a)
	if err != nil {
		t.Fatal(err)
	}
	reach(0)
	for i := range 64 {
		if i == 32 {
			reach(1)
		}
		if _, err := s.Write(make([]byte, 1<<16)); err != nil {
			t.Fatal(err)
		}
	}
	reach(2)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(s.Name()); err != nil || len(b) != 1<<22 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	reach(3)
	err = Write(context.Background(), File{Path: a, Staged: s}, File{
		Path: filepath.Join(dir, "b"),
		Write: func(w io.Writer) error {
			reach(4)
			_, err := w.Write(make([]byte, 1<<21))
			reach(5)
			return err
		},
	})
	t.Fatalf("no stage %d: %v", stage, err)
}

// TestKilledWritersLeaveOldFiles kills a process at each stage of writing two files of which the first is staged. The
// old files stay, and the next Write of the same targets removes what the process left.
func TestKilledWritersLeaveOldFiles(t *testing.T) {
	for i, name := range stages {
		dir, a, b := pair(t, true)
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", killedEnv, i, dir))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: the writer was not killed: %v\n%s", name, err, out)
		}
		got := contents(t, dir)
		if got["a"] != "old a" || got["b"] != "old b" || len(got) < 3 {
			t.Errorf("%s: the folder holds %d files, a is %.10q and b is %.10q; want the old ones and what was left",
				name, len(got), got["a"], got["b"])
		}
		if err := Write(context.Background(), a, b); err != nil {
			t.Fatal(err)
		}
		want(t, dir, map[string]string{"a": "new a", "b": "new b"})
	}
}

// TestStagedFilesAreDiscarded closes a staged file without writing it, and one that belongs to another target.
func TestStagedFilesAreDiscarded(t *testing.T) {
	dir, a, b := pair(t, true)
	s, err := Stage(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(context.Background(), File{Path: b.Path, Staged: s}); err == nil {
		t.Error("contents that were staged for another file were written")
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	want(t, dir, map[string]string{"a": "old a", "b": "old b"})
}

// TestWriteCopiesFrom writes a file from one that has its contents and changes the result in place, as an editor may.
func TestWriteCopiesFrom(t *testing.T) {
	dir, a, b := pair(t, true)
	kept := filepath.Join(t.TempDir(), "kept")
	put(t, kept, "kept bytes")
	for range 2 {
		if err := Write(context.Background(), File{Path: a.Path, From: kept}, b); err != nil {
			t.Fatal(err)
		}
		want(t, dir, map[string]string{"a": "kept bytes", "b": "new b"})
		put(t, a.Path, "edited")
		want(t, filepath.Dir(kept), map[string]string{"kept": "kept bytes"})
	}
	if err := Write(context.Background(), File{Path: a.Path, From: kept + "x"}, b); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	want(t, dir, map[string]string{"a": "edited", "b": "new b"})
}
