package zinc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/transform/patch"
)

// Extensions of the two files of a pair.
const (
	ContainerExt  = pair.ContainerExt
	DescriptorExt = pair.DescriptorExt
)

// Pair is a compiled model. The bytes must not be changed while a Model of it is in
// use.
type Pair struct {
	Container []byte
	// Descriptor is nil for a container alone, which runs on the tensors that it binds.
	Descriptor []byte
	// Debug is the debug database of the compilation, nil for none: what every part of the pair came from. Patch needs
	// it, or the one beside a pair that was read.
	Debug []byte
	// Report is the compilation's report, nil for a pair that was read or came from a cache.
	Report *Report
	// Cached says that the pair came from a cache: nothing was compiled.
	Cached bool

	debugFile string // where the debug database may be, "" for nowhere
}

// newPair returns the files of a pair as a Pair.
func newPair(p pair.Pair) *Pair {
	return &Pair{Container: p.Container, Descriptor: p.Descriptor, Debug: p.Debug}
}

// files returns the Pair as its files.
func (p *Pair) files() pair.Pair {
	return pair.Pair{Container: p.Container, Descriptor: p.Descriptor, Debug: p.Debug}
}

// PairPaths returns the paths of the container and the descriptor of a pair; path is either of them: the descriptor is
// beside the container, with its own extension.
func PairPaths(path string) (container, descriptor string) {
	at := pair.PathsOf(path)
	return at.Container, at.Descriptor
}

// ReadPair reads a pair; path is either of its two files. Patch finds its debug database
// beside the container (.zdb).
func ReadPair(path string) (*Pair, error) { return read(path, pair.Read) }

// ReadPairOrContainer is ReadPair for a path whose container may lack a descriptor: then Pair.Descriptor is nil.
func ReadPairOrContainer(path string) (*Pair, error) { return read(path, pair.ReadOrContainer) }

func read(path string, read func(string) (pair.Pair, error)) (*Pair, error) {
	files, err := read(path)
	if err != nil {
		return nil, err
	}
	p := newPair(files)
	if !files.Alone() {
		p.debugFile = pair.PathsOf(path).Debug
	}
	return p, nil
}

// Write writes the pair as two files, one of them path, and its debug database beside them. It writes all of them or
// none.
func (p *Pair) Write(ctx context.Context, path string) error { return p.files().Write(ctx, path) }

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

// Patch returns a copy of the pair with new values for constants of its source, by name. The tasks keep their bytes,
// and the original pair does not change. A constant that the pair does not contain as in the source, and an array of
// another type or shape, are errors with the reason (*patch.Refusal).
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
	r, err := patch.Apply(p.files(), db, ws)
	if err != nil {
		return nil, err
	}
	patched := newPair(r.Pair)
	patched.Report = p.Report
	return patched, nil
}
