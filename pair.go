package zinc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/patch"
	"github.com/zinc-compiler/zinc/provenance"
)

// Extensions of the two files of a pair.
const (
	ContainerExt  = ".hwx"
	DescriptorExt = ".e5"
	debugExt      = ".zdb"
)

// Pair is a compiled model. The bytes must not be changed while a Model of it is in
// use.
type Pair struct {
	Container []byte
	// Descriptor is nil for a container that stands alone, which runs on the tensors
	// that it binds.
	Descriptor []byte
	// Debug is the debug database that the compilation gave, nil for none: what every
	// part of the pair came from. Patch needs it, or that of a pair that was read.
	Debug []byte
	// Report is that of the compilation; nil for a pair that was read or came from a
	// cache.
	Report *Report
	// Cached says that the pair came from a cache: nothing was compiled.
	Cached bool

	debugFile string // where the debug database may be, "" for nowhere
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

// ReadPair reads a pair of which path is one file. Patch finds its debug database
// beside the container (.zdb).
func ReadPair(path string) (*Pair, error) {
	p := &Pair{}
	c, d := PairPaths(path)
	for _, f := range []struct {
		path, other, what string
		data              *[]byte
	}{
		{path: c, other: d, what: "container", data: &p.Container},
		{path: d, other: c, what: "descriptor", data: &p.Descriptor},
	} {
		var err error
		if *f.data, err = regularfile.Read(f.path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = &missingError{f.what, f.path, f.other}
			}
			return nil, err
		}
	}
	p.debugFile = debugPath(c)
	return p, nil
}

// debugPath is where the debug database of a container is.
func debugPath(container string) string {
	return strings.TrimSuffix(container, ContainerExt) + debugExt
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

// Write writes the pair as the two files of which path is one, and its debug
// database beside them; all of them or none.
func (p *Pair) Write(ctx context.Context, path string) error {
	c, d := PairPaths(path)
	files := []atomicfile.File{atomicfile.Bytes(c, p.Container)}
	if p.Descriptor != nil {
		files = append(files, atomicfile.Bytes(d, p.Descriptor))
	}
	if p.Debug != nil {
		files = append(files, atomicfile.Bytes(debugPath(c), p.Debug))
	}
	return atomicfile.Write(ctx, files...)
}

func (p *Pair) debug() (*provenance.DB, error) {
	if p.Debug != nil {
		return provenance.Read(p.Debug)
	}
	if p.debugFile == "" {
		return nil, ErrNoDebug
	}
	db, err := provenance.Open(p.debugFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrNoDebug, err)
	}
	return db, err
}

// Patch returns the pair with new values for constants of its source, by name. Its
// tasks are the same bytes, and the pair that it is called on is not changed. A
// constant that does not stand in the pair as it stands in the source, and an array
// of another type or shape, are errors with the reason (*patch.Refusal).
func (p *Pair) Patch(weights map[string]Tensor) (*Pair, error) {
	db, err := p.debug()
	if err != nil {
		return nil, err
	}
	var ws []patch.Weight
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		if err := weights[name].check(); err != nil {
			return nil, fmt.Errorf("zinc: constant %q: %w", name, err)
		}
		ws = append(ws, patch.Weight{Name: name, Array: weights[name].array()})
	}
	r, err := patch.Apply(p.Container, p.Descriptor, db, ws)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := r.DB.Write(&b); err != nil {
		return nil, err
	}
	return &Pair{Container: r.Container, Descriptor: r.Descriptor, Debug: b.Bytes(), Report: p.Report}, nil
}
