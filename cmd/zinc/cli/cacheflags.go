package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/cache"
	"github.com/zinc-compiler/zinc/pair"
)

// cacheEnv names the folder of the cache where no flag does, cacheBytesEnv what it
// may hold.
const (
	cacheEnv      = "ZINC_CACHE"
	cacheBytesEnv = "ZINC_CACHE_MAX_BYTES"
)

// defaultCacheBytes is the size limit of a cache without one.
const defaultCacheBytes = 8 << 30

// cacheFlags say where compiled pairs are kept.
type cacheFlags struct {
	dir string
}

func (c *cacheFlags) register(f *pflag.FlagSet) {
	f.StringVar(&c.dir, "cache", os.Getenv(cacheEnv),
		"`FOLDER` to keep compiled pairs in; \"\" for none (default "+
			cacheEnv+")")
	f.Lookup("cache").DefValue = "" // help is the same whatever the environment holds
}

// store returns the cache of the flags. Folder is "" for none.
func (c *cacheFlags) store() (cache.Store, error) {
	n, err := cacheBound()
	return cache.Store{Folder: c.dir, MaxBytes: n}, err
}

// cacheBound is what a cache may hold: what the environment says.
func cacheBound() (int64, error) {
	s := os.Getenv(cacheBytesEnv)
	if s == "" {
		return defaultCacheBytes, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, usagef("%s=%q: want a number of bytes, 0 for unlimited", cacheBytesEnv, s)
	}
	return n, nil
}

// slot is the place of one compilation in the cache; nil for none.
type slot struct {
	store cache.Store
	key   pair.Key
	again func() (pair.Key, error)
}

// slot returns the place of what the flags make of a model. A model without a slot is reported, but is not an error.
func (c *compileFlags) slot(ctx context.Context, e *env, path string) (*slot, error) {
	if c.cache.dir == "" {
		return nil, nil
	}
	store, err := c.cache.store()
	if err != nil {
		return nil, err
	}
	shapes, err := parseShapes(c.shapes)
	if err != nil {
		return nil, err
	}
	o := pair.Options{
		Target: c.target, Precision: c.precision, Func: c.function, InputName: filepath.Base(path), Shapes: shapes,
		Place: c.place, OneSection: !c.split, FullTD: c.tdForm == "full",
	}
	s := &slot{store: store, again: func() (pair.Key, error) { return pair.NewKey(ctx, path, c.weights, o) }}
	s.key, err = s.again()
	if errors.Is(err, pair.ErrUnknownFiles) && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(e.err, "zinc: not cached: %v\n", err)
		return nil, nil
	}
	if err != nil {
		return nil, nil // reading the model reports what is wrong with it
	}
	return s, nil
}

// get returns the pair and says that it is one from the cache, where that has it.
func (s *slot) get(e *env) (p pair.Pair, ok bool) {
	if s == nil {
		return p, false
	}
	p, err := s.store.Get(s.key)
	broken := (*cache.EntryError)(nil)
	if errors.As(err, &broken) {
		fmt.Fprintf(e.err, "zinc: cannot read the cache, compiling: %v\n", err)
	}
	if err != nil {
		return p, false
	}
	fmt.Fprintf(e.err, "zinc: cache hit %s: the pair is from %s, nothing was compiled\n", shortKey(s.key),
		s.store.Folder)
	return p, true
}

// put adds a pair. That it is not kept makes it no worse, and is said.
func (s *slot) put(e *env, p pair.Pair) {
	if s == nil {
		return
	}
	again, err := s.again()
	if err == nil && again != s.key {
		err = errors.New("the model's files changed while it was compiled")
	}
	if err == nil {
		err = s.store.Put(s.key, p)
	}
	if err != nil {
		fmt.Fprintf(e.err, "zinc: not cached: %v\n", err)
	}
}

// shortKey is enough of a key to identify it in a message.
func shortKey(k pair.Key) string { return k.String()[:12] }

// pairOf takes the pair of a model from the cache, or compiles it and keeps it there.
func (c *compileFlags) pairOf(ctx context.Context, e *env, path string) (p pair.Pair, err error) {
	kept, err := c.slot(ctx, e, path)
	if err != nil {
		return p, err
	}
	if p, ok := kept.get(e); ok {
		return p, nil
	}
	m, err := c.open(e, path)
	if err != nil {
		return p, err
	}
	defer m.Close()
	r, err := c.compile(ctx, e, m)
	if err != nil {
		return p, err
	}
	fmt.Fprintf(e.err, "zinc: %s\n", r.Report.Line())
	if p, err = r.Pair(); err != nil {
		return p, &internalError{err: err}
	}
	kept.put(e, p)
	return p, nil
}
