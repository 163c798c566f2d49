package blobfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ModelPath is the prefix of a path in MIL text that means the folder of the text.
const ModelPath = "@model_path/"

// A PathError is a path in a MIL text that is refused.
type PathError struct {
	Path string // as in the text
	Rule string // the rule that it breaks
}

// Error returns the path and the rule.
func (e *PathError) Error() string {
	return fmt.Sprintf("weight file path %q %s", e.Path, e.Rule)
}

// A MissingError is a weight file that a text names and that is not in the model's folder.
type MissingError struct {
	File string // path in the model's folder
	Dir  string // the model's folder
	// Pointer reports that there is a file, but that it is only a reference to one, as git-lfs leaves it.
	Pointer bool
	Err     error // of the file system, nil for a pointer
}

// Error returns the file and what is there instead.
func (e *MissingError) Error() string {
	if e.Pointer {
		return fmt.Sprintf("weight file %s of model folder %s is a git-lfs pointer", e.File, e.Dir)
	}
	return fmt.Sprintf("weight file %s of model folder %s: %v", e.File, e.Dir, e.Err)
}

// Is reports whether target is fs.ErrNotExist.
func (e *MissingError) Is(target error) bool { return target == fs.ErrNotExist }

// lfsMark begins the files that git-lfs writes instead of large ones, which have at most lfsBytes bytes.
const (
	lfsMark  = "version https://git-lfs.github.com/spec/"
	lfsBytes = 1024
)

// isPointer reports whether f is what git-lfs writes instead of a file. It leaves f at its start.
func isPointer(f *os.File, size int64) bool {
	if size > lfsBytes {
		return false
	}
	b := make([]byte, len(lfsMark))
	n, _ := f.ReadAt(b, 0)
	return string(b[:n]) == lfsMark
}

// A Folder is the folder of a model: an os.Root, or Linked.
type Folder interface {
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (*os.File, error)
	Close() error
}

// Linked is the path of a Folder whose links are followed, also to files outside it. Names are relative, with slashes.
type Linked string

// Stat describes the file that a name refers to.
func (l Linked) Stat(name string) (fs.FileInfo, error) { return os.Stat(l.path(name)) }

// Open opens the file that a name refers to.
func (l Linked) Open(name string) (*os.File, error) { return os.Open(l.path(name)) }

// Close does nothing.
func (l Linked) Close() error { return nil }

func (l Linked) path(name string) string { return filepath.Join(string(l), filepath.FromSlash(name)) }

// OpenFolder opens the folder at dir. If follow is set, links in it may refer to files outside.
func OpenFolder(dir string, follow bool) (Folder, error) {
	if !follow {
		return os.OpenRoot(dir)
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a folder")}
	}
	return Linked(dir), nil
}

// A Set is the weight files of one model, opened at first use. Unless the folder is Linked, it never opens a file
// outside it, even if a path or a link in the folder refers to one. It may be used by several goroutines at a time.
type Set struct {
	dir  string
	root Folder

	mu    sync.Mutex
	files map[string]*opened // by path in the folder; nil after Close
}

type opened struct {
	file *File
	info fs.FileInfo // as it was before it was opened; nil for one that cannot be
	err  error
}

// OpenSet returns the Set of the model in folder dir, whose links may refer to files outside if follow is set.
func OpenSet(dir string, follow bool) (*Set, error) {
	root, err := OpenFolder(dir, follow)
	if err != nil {
		return nil, err
	}
	return NewSet(root, dir), nil
}

// NewSet returns the Set of the model whose folder is root, which the Set closes. dir is its path in messages.
func NewSet(root Folder, dir string) *Set {
	return &Set{dir: dir, root: root, files: map[string]*opened{}}
}

// Resolve checks a path from a MIL text and returns the file's path in the
// model's folder, with slashes.
func Resolve(textPath string) (string, error) {
	rel, ok := strings.CutPrefix(textPath, ModelPath)
	switch {
	case !ok:
		return "", &PathError{textPath, "must begin with " + ModelPath}
	case rel == "":
		return "", &PathError{textPath, "is not a file name"}
	case strings.ContainsAny(rel, "\\\x00"):
		return "", &PathError{textPath, `must not contain a backslash or a zero byte`}
	case strings.HasPrefix(rel, "/"):
		return "", &PathError{textPath, "must not be absolute"}
	case len(rel) >= 2 && rel[1] == ':':
		return "", &PathError{textPath, "must not name a drive"}
	}
	if slices.Contains(strings.Split(rel, "/"), "..") {
		return "", &PathError{textPath, `must not contain ".."`}
	}
	rel = path.Clean(rel)
	if rel == "." {
		return "", &PathError{textPath, "is not a file name"}
	}
	return rel, nil
}

// Open returns the weight file that a path in the MIL text names. The Set closes it.
func (s *Set) Open(textPath string) (*File, error) {
	rel, err := Resolve(textPath)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		return nil, fmt.Errorf("weight files of %s: %w", s.dir, os.ErrClosed)
	}
	o := s.files[rel]
	if o == nil {
		o = new(opened)
		o.file, o.info, o.err = s.load(rel)
		s.files[rel] = o
	}
	return o.file, o.err
}

// weightsFolder is where converters put weight files.
const weightsFolder = "weights"

// beside returns where a weight file is if it was saved without its folder, next to the model's text or specification,
// as downloads of single files leave it: "" if it has no such folder.
func beside(rel string) string {
	if dir, name := path.Split(rel); dir == weightsFolder+"/" {
		return name
	}
	return ""
}

// find opens a weight file, at its path or next to the text. The file is the caller's to close.
func (s *Set) find(rel string) (f *os.File, name string, info fs.FileInfo, err error) {
	info, err = s.root.Stat(rel) // before opening, since opening a pipe would wait for a writer
	if other := beside(rel); other != "" && errors.Is(err, fs.ErrNotExist) {
		if i, err2 := s.root.Stat(other); err2 == nil {
			rel, info, err = other, i, nil
		}
	}
	name = path.Join(s.dir, rel)
	if errors.Is(err, fs.ErrNotExist) {
		if pe := (*os.PathError)(nil); errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, "", nil, &MissingError{File: rel, Dir: s.dir, Err: err}
	}
	if err != nil {
		return nil, "", nil, s.explain(rel, err)
	}
	if !info.Mode().IsRegular() {
		return nil, "", nil, notRegular(name, info.Mode())
	}
	if f, err = s.root.Open(rel); err != nil {
		return nil, "", nil, s.explain(rel, err)
	}
	if isPointer(f, info.Size()) {
		f.Close() // only read from
		return nil, "", nil, &MissingError{File: rel, Dir: s.dir, Pointer: true}
	}
	return f, name, info, nil
}

func (s *Set) load(rel string) (*File, fs.FileInfo, error) {
	f, name, info, err := s.find(rel)
	if err != nil {
		return nil, nil, err
	}
	file, err := open(name, f)
	return file, info, err
}

// Find opens the weight file at a path that Resolve returned, to be copied; the caller closes it.
func (s *Set) Find(rel string) (io.ReadCloser, error) {
	if r, err := s.added(rel); r != nil || err != nil {
		return r, err
	}
	f, _, _, err := s.find(rel)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Stamp describes the files that have been opened. It differs if one of them was written to, replaced, added or removed
// between two Sets.
func (s *Set) Stamp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, rel := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(&b, "%q", rel)
		if info := s.files[rel].info; info != nil {
			fmt.Fprintf(&b, " %d %d", info.Size(), info.ModTime().UnixNano())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// explain adds the model's folder to an error of os.Root.
func (s *Set) explain(rel string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("weight file %s of model folder %s: %w", rel, s.dir, err)
}

// Close unmaps every file. The Data of their blobs must not be used afterwards.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, o := range s.files {
		if o.file != nil {
			errs = append(errs, o.file.Close())
		}
	}
	if s.files != nil {
		errs = append(errs, s.root.Close())
	}
	s.files = nil
	return errors.Join(errs...)
}
