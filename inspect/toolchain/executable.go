package toolchain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Executable is another zinc. It does not change and may be used by several
// goroutines.
type Executable struct {
	Path    string // absolute
	Version Version
	SHA256  string // of the file, in hexadecimal

	flags map[string]bool // long names that its help lists
	size  int64
	time  time.Time
}

// Bounds of the questions that Open asks.
const (
	askTime  = 20 * time.Second
	askBytes = 1 << 20
	// maxExecutable bounds the file that is read for its digest.
	maxExecutable = 1 << 30
)

// Open asks the executable at path for its version and its flags. Errors name the path and say that the file does not
// run, or does not answer as zinc does.
func Open(ctx context.Context, path string) (*Executable, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	x := &Executable{Path: abs}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; want the path of a zinc executable", path)
	case info.Mode()&0o111 == 0 && os.PathSeparator == '/':
		return nil, fmt.Errorf("%s is not executable", path)
	case info.Size() > maxExecutable:
		return nil, fmt.Errorf("%s has %d bytes; the limit for an executable is %d", path, info.Size(),
			maxExecutable)
	}
	x.size, x.time = info.Size(), info.ModTime()
	if x.SHA256, err = Digest(abs); err != nil {
		return nil, err
	}
	out, err := x.ask(ctx, "version", "--json")
	if err != nil && ctx.Err() == nil {
		out, err = x.ask(ctx, "version")
	}
	if err == nil {
		x.Version, err = parseVersion(out)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s does not report a zinc version: %w", path, err)
	}
	x.flags = map[string]bool{}
	for _, f := range x.Version.Flags {
		x.flags[f] = true
	}
	if out = ""; x.Version.Flags == nil {
		out, err = x.ask(ctx, "--help")
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s does not list its flags: %w", path, err)
	}
	for _, m := range listedFlag.FindAllStringSubmatch(out, -1) {
		x.flags[m[1]] = true
	}
	if !x.flags["output"] {
		return nil, fmt.Errorf("%s: its help has no --output, so it compiles nothing", path)
	}
	return x, nil
}

// listedFlag is a flag in the help's list.
var listedFlag = regexp.MustCompile(`(?m)^ {2,6}(?:-\w, )?--([a-z0-9-]+)`)

// unchanged returns an error when the file is not the one that was opened.
func (x *Executable) unchanged() error {
	info, err := os.Stat(x.Path)
	if err != nil {
		return err
	}
	if info.Size() != x.size || !info.ModTime().Equal(x.time) {
		return fmt.Errorf("%s: the executable changed since it was opened; open it again", x.Path)
	}
	return nil
}

// ask runs the executable for what it prints.
func (x *Executable) ask(ctx context.Context, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	var out, messages bytes.Buffer
	c := &child{
		path:   x.Path,
		args:   args,
		dir:    dir,
		time:   askTime,
		bytes:  askBytes,
		stdout: &bounded{w: &out, limit: askBytes, what: "its answer"},
		stderr: &bounded{w: &messages, limit: askBytes, what: "its messages"},
	}
	if err := c.run(ctx); err != nil {
		return "", err
	}
	return out.String(), nil
}

// Digest is the SHA-256 of an executable in hexadecimal, as Executable.SHA256 has it.
func Digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxExecutable)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// LimitError reports that an executable was stopped at a limit.
type LimitError struct {
	What  string // as "its messages"
	Limit string // as "64 MiB"
}

func (e *LimitError) Error() string { return e.What + " exceeded the limit of " + e.Limit }

// bounded passes on what fits and then refuses.
type bounded struct {
	w     io.Writer
	limit int64
	what  string
	n     int64 // written
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.n += int64(len(p)); b.n > b.limit {
		return 0, &LimitError{What: b.what, Limit: size(b.limit)}
	}
	return b.w.Write(p)
}

func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// limited returns the bound that err is of, nil for another error.
func limited(err error) *LimitError {
	var l *LimitError
	errors.As(err, &l)
	return l
}
