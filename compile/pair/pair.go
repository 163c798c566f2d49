package pair

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/filename"
	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// Extensions of the files of a pair.
const (
	ContainerExt  = ".hwx"
	DescriptorExt = ".e5"
	DebugExt      = ".zdb"
)

// Pair is a compiled model. Receivers may keep its bytes, so they must not be changed.
type Pair struct {
	Container []byte // the engine's programs
	// Descriptor has the calls around them; nil for a container alone.
	Descriptor []byte
	// Debug is the debug database, nil for none. Read leaves it out.
	Debug []byte
	// Summary is the placement in one line. It is in no file: only compilation and cache set it.
	Summary string
}

// Alone reports whether the container has no descriptor. Its one program then runs on the tensors that it binds.
func (p Pair) Alone() bool { return p.Descriptor == nil }

// Paths are the files of a pair, whether or not they exist.
type Paths struct{ Container, Descriptor, Debug string }

// PathsOf returns the files of a pair, given the container or the descriptor. A path
// without the extension of either is the container. Names that a file system does not take are cut.
func PathsOf(path string) Paths {
	base, container := path, path
	if ext := filepath.Ext(path); ext == ContainerExt || ext == DescriptorExt {
		base = strings.TrimSuffix(path, ext)
		if ext == DescriptorExt {
			container = filename.Beside(base, ContainerExt)
		}
	}
	return Paths{container, filename.Beside(base, DescriptorExt), filename.Beside(base, DebugExt)}
}

// A Reader returns the bytes of the file at a path, which must not be changed.
type Reader func(path string) ([]byte, error)

// Read reads container and descriptor, given the path of one.
func Read(path string) (Pair, error) { return Reader(regularfile.Read).Read(path) }

// ReadOrContainer is Read for a container that may have no descriptor; Pair.Descriptor is then nil.
func ReadOrContainer(path string) (Pair, error) {
	return Reader(regularfile.Read).ReadOrContainer(path)
}

// Read is the function Read with files from read.
func (read Reader) Read(path string) (Pair, error) {
	var p Pair
	at := PathsOf(path)
	for _, f := range []struct {
		path, other, what string
		data              *[]byte
	}{
		{path: at.Container, other: at.Descriptor, what: "container", data: &p.Container},
		{path: at.Descriptor, other: at.Container, what: "descriptor", data: &p.Descriptor},
	} {
		var err error
		if *f.data, err = read(f.path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = &missingError{f.what, f.path, f.other}
			}
			return Pair{}, err
		}
	}
	return p, nil
}

// ReadOrContainer is the function ReadOrContainer with files from read.
func (read Reader) ReadOrContainer(path string) (Pair, error) {
	if d := PathsOf(path).Descriptor; path != d {
		if _, err := os.Stat(d); errors.Is(err, fs.ErrNotExist) {
			c, err := read(path)
			return Pair{Container: c}, err
		}
	}
	return read.Read(path)
}

// Files are the files of the pair to write, given the path of one of them. What is nil
// has no file.
func (p Pair) Files(path string) []atomicfile.File {
	at := PathsOf(path)
	files := []atomicfile.File{atomicfile.Bytes(at.Container, p.Container)}
	if p.Descriptor != nil {
		files = append(files, atomicfile.Bytes(at.Descriptor, p.Descriptor))
	}
	if p.Debug != nil {
		files = append(files, atomicfile.Bytes(at.Debug, p.Debug))
	}
	return files
}

// Write writes the pair as the files that PathsOf names: all of them or none.
func (p Pair) Write(ctx context.Context, path string) error {
	return atomicfile.Write(ctx, p.Files(path)...)
}

// missingError reports that half of a pair does not exist.
type missingError struct{ what, path, other string }

func (e *missingError) Error() string {
	return fmt.Sprintf("the pair's %s %s does not exist; it belongs beside %s", e.what, e.path, e.other)
}

// Is reports whether target is fs.ErrNotExist.
func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }
