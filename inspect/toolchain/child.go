package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/internal/procgroup"
)

// folderPattern names the private folders.
const folderPattern = "zinc-version-"

// How often the files that a child writes are counted, and how long its streams may stay
// open once it has ended, by a process that it left behind.
const (
	watchEvery = 200 * time.Millisecond
	waitDelay  = 2 * time.Second
)

// child is one run of an executable.
type child struct {
	path   string
	args   []string
	dir    string // it works in
	time   time.Duration
	bytes  int64 // of the files that it leaves in dir
	memory int64 // resident, 0 for no bound
	stdout io.Writer
	stderr io.Writer
}

// run runs the child to its end. Errors are LimitErrors, exec.ExitErrors, the writers', and the context's.
func (c *child) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(c.time, func() { cancel(&LimitError{What: "its time", Limit: c.time.String()}) })
	defer late.Stop()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.dir, environment(), waitDelay
	if c.memory > 0 {
		// One written in Go collects its garbage in time, rather than be killed for it.
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMEMLIMIT=%d", c.memory-c.memory/8))
	}
	cmd.Stdout, cmd.Stderr = &stopping{c.stdout, cancel}, &stopping{c.stderr, cancel}
	procgroup.Own(cmd)
	// On Linux the child ends with the thread that starts it; this keeps the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.watch(cmd.Process.Pid, done, cancel)
	}()
	err := cmd.Wait()
	close(done)
	<-watched
	procgroup.End(cmd)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; what it left behind was ended
	}
	if err == nil && occupied(c.dir) > c.bytes {
		return &LimitError{What: "its files", Limit: size(c.bytes)}
	}
	return err
}

// watch cancels a child whose files, or whose memory, grow past the bound.
func (c *child) watch(pid int, done <-chan struct{}, cancel context.CancelCauseFunc) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-t.C:
			if occupied(c.dir) > c.bytes {
				cancel(&LimitError{What: "its files", Limit: size(c.bytes)})
				return
			}
			if c.memory > 0 && resident(pid) > c.memory {
				cancel(&LimitError{What: "its memory", Limit: size(c.memory)})
				return
			}
		}
	}
}

// occupied is the bytes of all files below dir.
func occupied(dir string) (n int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went away meanwhile
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// environment is this process's, without what configures zinc.
func environment() (out []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "ZINC_") {
			out = append(out, v)
		}
	}
	return out
}

// stopping ends the child at the first error of a writer.
type stopping struct {
	w      io.Writer
	cancel context.CancelCauseFunc
}

func (s *stopping) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.cancel(err)
	}
	return n, err
}
