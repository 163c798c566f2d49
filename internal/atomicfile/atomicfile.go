package atomicfile

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/internal/filename"
)

// File is one file to write.
type File struct {
	Path  string
	Write func(w io.Writer) error
	// Staged has the contents already, instead of Write.
	Staged *Staged
	// From is a file that has the contents already. The system copies them, and shares the blocks of the two files
	// where the file system can. The target is never a link to it: what is written to one file would be in both.
	From string
}

// Staged is a temporary file beside its target, which Write makes the target. Its contents can be written and read
// before anybody knows whether they are wanted.
type Staged struct {
	target string
	out    *os.File
	w      *bufio.Writer
	made   folders
}

// Stage creates the temporary file for a target, and the folders above it that are missing. The caller closes it.
func Stage(path string) (*Staged, error) {
	target, mode, err := resolve(path)
	if err != nil {
		return nil, err
	}
	made, err := makeFolders(filepath.Dir(target))
	if err != nil {
		return nil, writeError(path, err)
	}
	out, err := create(target, mode)
	if err != nil {
		made.remove()
		return nil, writeError(path, err)
	}
	return &Staged{target: target, out: out, w: bufio.NewWriterSize(&earlyWriter{f: out}, bufferBytes), made: made}, nil
}

// folders are folders that were created, innermost first.
type folders []string

// makeFolders creates dir and the folders above it that are missing.
func makeFolders(dir string) (made folders, err error) {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		made.remove()
		return nil, err
	}
	return made, nil
}

// remove removes the folders that are empty.
func (made folders) remove() {
	for _, d := range made {
		os.Remove(d) // fails where there is something in it
	}
}

// bufferBytes is the length from which a write goes straight to the file.
const bufferBytes = 1 << 16

// earlyBytes is how much of a file is written before the system is told to store it.
const earlyBytes = 8 << 20

// earlyWriter has the system store a long file while the rest of it is being made, so that Sync has little left to wait
// for.
type earlyWriter struct {
	f           *os.File
	begun, size int64
}

func (w *earlyWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.wrote(int64(n))
	return n, err
}

// wrote records that n more bytes are in the file.
func (w *earlyWriter) wrote(n int64) {
	if w.size += n; w.size-w.begun >= earlyBytes {
		beginSync(w.f, w.begun, w.size-w.begun)
		w.begun = w.size
	}
}

// Write appends to the contents.
func (s *Staged) Write(p []byte) (int, error) { return s.w.Write(p) }

// Flush makes the contents readable under Name.
func (s *Staged) Flush() error { return s.w.Flush() }

// Sync stores the contents on the disk.
func (s *Staged) Sync() error { return errors.Join(s.w.Flush(), s.out.Sync()) }

// Name is the path of the temporary file.
func (s *Staged) Name() string { return s.out.Name() }

// Close removes the temporary file, unless Write has made it the target.
func (s *Staged) Close() error {
	if s.out == nil {
		return nil
	}
	err := errors.Join(s.out.Close(), os.Remove(s.out.Name()))
	s.out = nil
	s.made.remove()
	return err
}

// Bytes returns a File with the contents b.
func Bytes(path string, data []byte) File {
	return File{Path: path, Write: func(w io.Writer) error { _, err := w.Write(data); return err }}
}

// Write writes all of the files or none, and creates the folders above them that are missing. Canceling ctx has no
// effect once the first file is being renamed.
func Write(ctx context.Context, files ...File) (err error) {
	t := &transaction{}
	defer func() { err = errors.Join(err, t.end(err != nil)) }()
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.stage(f); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range t.staged {
		if err := t.commit(&t.staged[i]); err != nil {
			return err
		}
	}
	t.syncFolders()
	for i := range t.staged {
		abandoned(t.staged[i].target)
	}
	return nil
}

// staged is one file that is being replaced.
type staged struct {
	target string // with links resolved
	temp   string // temporary file; "" once it has become the target
	backup string // second link to the old file, or ""
	done   bool   // whether target is the new file
	// held are the files behind temp and backup, locked so that no other process takes them for abandoned.
	held []*os.File
}

type transaction struct {
	staged []staged
	made   folders
}

// rename and link are replaced by tests.
var (
	rename = os.Rename
	link   = os.Link
)

// resolve follows a link at path, so that the file it points to is replaced
// and the link stays, and checks that the file is a regular one.
func resolve(path string) (target string, mode fs.FileMode, err error) {
	target = path
	if r, err := filepath.EvalSymlinks(path); err == nil {
		target = r
	}
	switch info, err := os.Lstat(target); {
	case errors.Is(err, fs.ErrNotExist):
		return target, 0o666, nil
	case err != nil:
		return "", 0, err
	case info.IsDir():
		return "", 0, fmt.Errorf("%s is a folder, not a file", path)
	case !info.Mode().IsRegular():
		return "", 0, fmt.Errorf("%s is not a regular file and cannot be replaced", path)
	default:
		return target, info.Mode().Perm(), nil
	}
}

// stage writes the contents to a temporary file beside the target.
func (t *transaction) stage(f File) error {
	target, _, err := resolve(f.Path)
	if err != nil {
		return err
	}
	for _, s := range t.staged {
		if s.target == target {
			return fmt.Errorf("%s is named twice as an output; choose another path for one of them", f.Path)
		}
	}
	file := f.Staged
	switch {
	case file == nil:
		if file, err = Stage(f.Path); err != nil {
			return err
		}
	case file.out == nil || file.target != target:
		return fmt.Errorf("cannot write %s: the contents were staged for another file", f.Path)
	}
	out := file.out
	file.out = nil // it is this transaction's now
	t.staged = append(t.staged, staged{target: target, temp: out.Name()})
	t.made = append(file.made, t.made...)
	s := &t.staged[len(t.staged)-1]
	switch {
	case f.From != "":
		err = from(f.From, out)
	case f.Write != nil:
		err = f.Write(file)
	}
	if err == nil {
		err = file.Flush()
	}
	if err == nil {
		err = out.Sync()
	}
	if !locks {
		err = errors.Join(err, out.Close()) // an open file cannot be renamed everywhere
	} else {
		s.held = append(s.held, out)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", f.Path, err)
	}
	return nil
}

// writeError reports that a file cannot be written. The name of its temporary file means nothing to the user.
func writeError(path string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

// create returns a new temporary file beside target, locked.
func create(target string, mode fs.FileMode) (*os.File, error) {
	for range 100 {
		out, err := os.OpenFile(beside(target), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, err
		}
		lock(out)
		own, err := out.Stat()
		if err != nil {
			return nil, errors.Join(err, out.Close(), os.Remove(out.Name()))
		}
		if now, err := os.Lstat(out.Name()); err == nil && os.SameFile(now, own) {
			return out, nil
		}
		out.Close() // another process took it for abandoned before it was locked
	}
	return nil, errors.New("temporary files vanish from its folder")
}

// A temporary file is named .NAME.DIGITS.tmp, where NAME is the target's name, cut if it is long, and DIGITS are of the
// alphabet of crypto/rand.Text.
const (
	tempDigits = 10
	tempSuffix = ".tmp"
	tempBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// beside returns an unused name in the folder of path.
func beside(path string) string {
	return filepath.Join(filepath.Dir(path), tempPrefix(filepath.Base(path))+rand.Text()[:tempDigits]+tempSuffix)
}

// tempPrefix returns what the names of temporary files of a target named base begin with.
func tempPrefix(base string) string {
	return filename.Join("."+base, ".", filename.Max-tempDigits-len(tempSuffix))
}

// isBeside reports whether name is one that beside returns for a target named base.
func isBeside(name, base string) bool {
	rest, ok := strings.CutPrefix(name, tempPrefix(base))
	if !ok {
		return false
	}
	digits, ok := strings.CutSuffix(rest, tempSuffix)
	return ok && len(digits) == tempDigits && strings.Trim(digits, tempBase32) == ""
}

// abandoned removes the temporary files of target that processes left behind when they were killed: those that nobody
// has locked. It reports no error, because the files are in nobody's way.
func abandoned(target string) {
	dir, base := filepath.Split(target)
	es, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return
	}
	for _, e := range es {
		if isBeside(e.Name(), base) && e.Type().IsRegular() {
			removeOwnerless(filepath.Join(dir, e.Name()))
		}
	}
}

// commit renames one new file over its target and keeps a link to the old one.
func (t *transaction) commit(s *staged) error {
	if len(t.staged) > 1 {
		backup := beside(s.target)
		switch err := s.link(backup); {
		case err == nil:
			s.backup = backup
		case errors.Is(err, fs.ErrNotExist):
		default:
			// The file system does not support links: rename the old file.
			if err := rename(s.target, backup); err != nil {
				return fmt.Errorf("cannot replace %s: %w", s.target, err)
			}
			s.backup = backup
			s.done = true // end restores the old file
		}
	}
	if err := rename(s.temp, s.target); err != nil {
		return fmt.Errorf("cannot replace %s: %w", s.target, err)
	}
	s.temp, s.done = "", true
	return nil
}

// from copies the file at path to out.
func from(path string, out *os.File) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = Copy(out, in)
	return errors.Join(err, in.Close())
}

// Copy copies the rest of in to out, which is empty, and returns the number of bytes. The system copies them, and
// shares the blocks of the two files where the file system can; it stores what has been copied while the rest is being
// copied, so that Sync of out has little left to wait for.
func Copy(out, in *os.File) (size int64, err error) {
	w := &earlyWriter{f: out}
	for {
		n, err := io.CopyN(out, in, earlyBytes)
		w.wrote(n)
		switch {
		case err == io.EOF:
			return w.size, nil
		case err != nil:
			return w.size, err
		}
	}
}

// link makes backup a second link to the old file, which is locked first so that the link is not taken for abandoned.
func (s *staged) link(backup string) error {
	for {
		old, err := os.Open(s.target)
		if err != nil || !locks {
			if err == nil {
				old.Close()
			}
			return link(s.target, backup) // a file that cannot be read can be linked, but not locked
		}
		lock(old)
		if err := link(s.target, backup); err != nil {
			old.Close()
			return err
		}
		own, err := old.Stat()
		now, err2 := os.Lstat(backup)
		if err == nil && err2 == nil && os.SameFile(own, now) {
			s.held = append(s.held, old)
			return nil
		}
		// Another process replaced the target between the two calls.
		old.Close()
		if err := os.Remove(backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// end removes temporary files and, after a failure, restores old files.
func (t *transaction) end(failed bool) error {
	var errs []error
	for i := len(t.staged) - 1; i >= 0; i-- {
		s := &t.staged[i]
		defer func() {
			for _, f := range s.held {
				f.Close()
			}
		}()
		if s.temp != "" {
			os.Remove(s.temp)
		}
		switch {
		case failed && s.done && s.backup != "":
			if err := rename(s.backup, s.target); err != nil {
				errs = append(errs, fmt.Errorf("cannot restore the old %s, which is now %s: %w", s.target, s.backup,
					err))
			}
		case failed && s.done:
			if err := os.Remove(s.target); err != nil {
				errs = append(errs, err)
			}
		case s.backup != "":
			if err := os.Remove(s.backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	if failed {
		t.made.remove()
	}
	return errors.Join(errs...)
}

// syncFolders makes the renames durable. It ignores systems that cannot sync a
// folder, because the contents have already been synced.
func (t *transaction) syncFolders() {
	seen := map[string]bool{}
	for _, s := range t.staged {
		dir := filepath.Dir(s.target)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if d, err := os.Open(dir); err == nil {
			d.Sync()
			d.Close()
		}
	}
}
