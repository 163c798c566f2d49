package zinc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// Extensions of the two files of a pair.
const (
	ContainerExt  = ".hwx"
	DescriptorExt = ".e5"
)

// Pair is a compiled model. The bytes must not be changed while a Model of it is in
// use.
type Pair struct {
	Container []byte
	// Descriptor is nil for a container that stands alone, which runs on the tensors
	// that it binds.
	Descriptor []byte
	// Report is that of the compilation; nil for a pair that was read or came from a
	// cache.
	Report *Report
	// Cached says that the pair came from a cache: nothing was compiled.
	Cached bool
}

// PairPaths returns the paths of the container and the descriptor of a pair of which
// path is one: the descriptor is beside the container, with its own extension.
func PairPaths(path string) (container, descriptor string) {
	base := strings.TrimSuffix(strings.TrimSuffix(path, ContainerExt), DescriptorExt)
	switch filepath.Ext(path) {
	case ContainerExt:
		return path, base + DescriptorExt
	case DescriptorExt:
		return base + ContainerExt, path
	}
	return path, path + DescriptorExt
}

// ReadPair reads a pair of which path is one file.
func ReadPair(path string) (*Pair, error) {
	p := &Pair{}
	c, d := PairPaths(path)
	for _, f := range []struct {
		path, other, what string
		data              *[]byte
	}{
		{c, d, "container", &p.Container},
		{d, c, "descriptor", &p.Descriptor},
	} {
		var err error
		if *f.data, err = regularfile.Read(f.path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("the pair's %s %s does not exist; it belongs beside %s", f.what, f.path, f.other)
			}
			return nil, err
		}
	}
	return p, nil
}

// ReadPairOrContainer is ReadPair for a path whose container may stand alone: without
// a descriptor beside it, Pair.Descriptor is nil.
func ReadPairOrContainer(path string) (*Pair, error) {
	if _, d := PairPaths(path); path != d {
		if _, err := os.Stat(d); errors.Is(err, fs.ErrNotExist) {
			c, err := regularfile.Read(path)
			if err != nil {
				return nil, err
			}
			return &Pair{Container: c}, nil
		}
	}
	return ReadPair(path)
}

// Write writes the pair as the two files of which path is one, both or neither.
func (p *Pair) Write(ctx context.Context, path string) error {
	c, d := PairPaths(path)
	files := []atomicfile.File{atomicfile.Bytes(c, p.Container)}
	if p.Descriptor != nil {
		files = append(files, atomicfile.Bytes(d, p.Descriptor))
	}
	return atomicfile.Write(ctx, files...)
}
