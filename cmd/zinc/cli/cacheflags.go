package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cache"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// cacheEnv is the environment variable for the cache folder if --cache is not set, cacheOff its value for none,
// cacheBytesEnv the variable for the size limit, and remoteEnv the one for the server if --cache-remote is not set.
const (
	cacheEnv      = "ZINC_CACHE"
	cacheOff      = "off"
	cacheBytesEnv = "ZINC_CACHE_MAX_BYTES"
	remoteEnv     = "ZINC_CACHE_REMOTE"
)

// ownCache returns the folder of the cache if no flag sets one: the one that the environment names, or zinc's in the
// user's cache folder (XDG_CACHE_HOME on Linux). It returns "" for none.
func ownCache() string {
	switch dir := os.Getenv(cacheEnv); dir {
	case cacheOff:
		return ""
	case "": // as if it were not set
	default:
		return dir
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "" // a user without a home
	}
	return filepath.Join(user, "zinc")
}

// defaultCacheBytes is the size limit of a cache without one.
const defaultCacheBytes = 8 << 30

// cacheFlags say where compiled pairs are kept.
type cacheFlags struct {
	dir     string
	own     string // the folder without a flag
	off     bool
	trust   bool
	verify  bool
	remote  string
	timeout time.Duration // of the remote
}

// register adds the flags of a command that compiles.
func (c *cacheFlags) register(f *pflag.FlagSet) {
	c.registerFolder(f)
	f.StringVar(&c.remote, "cache-remote", os.Getenv(remoteEnv), "`URL` of a server that keeps pairs for several "+
		"machines, with Bazel's HTTP cache protocol (default "+remoteEnv+")")
	f.DurationVar(&c.timeout, "cache-remote-timeout", 10*time.Second, "`TIME` that a request to the server of "+
		"--cache-remote may take, besides a second for each MiB")
	f.Lookup("cache-remote").DefValue = ""
}

// registerFolder adds the flags of the folder.
func (c *cacheFlags) registerFolder(f *pflag.FlagSet) {
	c.own = ownCache()
	f.StringVar(&c.dir, "cache", c.own, "`FOLDER` to keep compiled pairs in; \"\" for none (default "+cacheEnv+
		", or zinc in the user's cache folder)")
	f.BoolVar(&c.off, "no-cache", false, "neither take the pair from the cache nor keep it there, as "+cacheEnv+"="+
		cacheOff)
	f.BoolVar(&c.trust, "cache-trust", false, "use the folder of --cache even if others can write to it")
	f.BoolVar(&c.verify, "cache-verify", false,
		"with --cache, read all files of the model and the whole pair, also what was not changed")
	f.Lookup("cache").DefValue = "" // help must not depend on the environment
}

// store returns the cache that the flags set. Its Folder is "" if there is none. A folder to which others can write is
// an error.
func (c *cacheFlags) store() (cache.Store, error) {
	n, err := cacheBound()
	s := cache.Store{Folder: c.dir, MaxBytes: n, Trust: c.trust}
	if err == nil {
		err = s.Check()
	}
	return s, err
}

// cacheBound returns the size limit of the cache in bytes, from the environment or the default.
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
	store  cache.Store   // Folder is "" for none
	remote *cache.Remote // nil for none, or once it has failed
	all    bool          // check every byte
	key    pair.Key
	again  func() (pair.Key, error)
	stale  bool // the model has changed since the key was computed
}

// slot returns the place in the cache of a model compiled with these flags, nil if the model cannot be cached.
// tellUncached then says why.
func (c *compileFlags) slot(ctx context.Context, e *env, path string) (*slot, error) {
	if c.follow || c.cache.off || c.cache.dir == "" && c.cache.remote == "" {
		return nil, nil
	}
	remote, err := c.cache.server()
	if err != nil {
		return nil, err
	}
	store, err := c.cache.store()
	if err == nil && c.cache.dir != "" && c.cache.dir == c.cache.own {
		// The user's own folder is made when it is first needed. Where that is impossible, models compile without it.
		if err := os.MkdirAll(c.cache.dir, 0o700); err != nil {
			store.Folder = ""
		}
	}
	if err != nil {
		return nil, err
	}
	if store.Folder == "" && remote == nil {
		return nil, nil
	}
	shapes, err := parseShapes(c.shapes)
	if err != nil {
		return nil, err
	}
	o := pair.Options{
		Target: c.target, Precision: c.precision, Func: c.function, InputName: filepath.Base(path), Shapes: shapes,
		Place: c.place, OneSection: !c.split, FullTD: c.tdForm == "full", OperationSymbols: c.symbols,
	}
	s := &slot{store: store, remote: remote, all: c.cache.verify}
	sum := pair.HashFile
	if store.Folder != "" {
		sum = store.FileSum(s.all)
	}
	s.again = func() (pair.Key, error) { return pair.NewKey(ctx, path, c.weights, o, sum) }
	s.key, err = s.again()
	if errors.Is(err, pair.ErrUnknownFiles) && !errors.Is(err, fs.ErrNotExist) {
		c.uncached = err
		return nil, nil
	}
	if err != nil {
		return nil, nil // reading the model reports what is wrong with it
	}
	return s, nil
}

// tellUncached says why an opened model cannot be cached. A model that cannot be opened has a fault that says more.
func (c *compileFlags) tellUncached(e *env) {
	if c.uncached != nil {
		e.note("not cached: %v", c.uncached)
	}
}

// server returns the remote cache that the flags set, nil for none.
func (c *cacheFlags) server() (*cache.Remote, error) {
	if c.remote == "" {
		return nil, nil
	}
	r, err := cache.NewRemote(c.remote, c.timeout)
	if err != nil {
		return nil, &usageError{err}
	}
	return r, nil
}

// get returns the cached pair, from the folder or else from the server, and prints where it came from.
func (s *slot) get(ctx context.Context, e *env) (p pair.Pair, ok bool) {
	if s == nil {
		return p, false
	}
	if s.store.Folder != "" {
		var err error
		if p, err = s.store.Get(s.key); err == nil {
			s.hit(e, p.Summary, s.store.Folder)
			return p, true
		}
		unreadable(e, err)
	}
	return s.fetch(ctx, e)
}

// fetch returns the pair from the server and keeps it in the folder.
func (s *slot) fetch(ctx context.Context, e *env) (p pair.Pair, ok bool) {
	if s.remote == nil {
		return p, false
	}
	p, err := s.remote.Get(ctx, s.key)
	if err == nil {
		if _, err = sim.Open(p); err != nil { // what it is compiled to is checked too (package compile)
			err = fmt.Errorf("%s: the pair does not load: %w", s.remote, err)
		}
	}
	if err != nil {
		s.lost(e, err)
		return p, false
	}
	s.hit(e, p.Summary, s.remote.String())
	s.put(e, p)
	return p, true
}

// lost ends the use of the server, with a warning unless it merely did not have the pair.
func (s *slot) lost(e *env, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, context.Canceled) {
		return
	}
	fmt.Fprintf(e.err, "zinc: %v; continuing without it\n", err)
	s.remote = nil
}

// upload adds a pair to the server. A failure is printed, but is not an error.
func (s *slot) upload(ctx context.Context, e *env, p pair.Pair) {
	if s == nil || s.remote == nil || s.stale {
		return
	}
	if err := s.remote.Put(ctx, s.key, p); err != nil {
		s.lost(e, err)
	}
}

// hit prints the summary of a pair from the cache and where the pair came from.
func (s *slot) hit(e *env, summary, from string) {
	e.note("%s (cache hit %s, %s)", summary, shortKey(s.key), from)
}

// unreadable prints why an entry could not be read, unless there is none.
func unreadable(e *env, err error) {
	if broken := (*cache.EntryError)(nil); errors.As(err, &broken) {
		fmt.Fprintf(e.err, "zinc: cannot read the cache, compiling: %v\n", err)
	}
}

// files returns the files of the cached pair, to write to a path, as get does. A large container is not read, unless it
// may have been changed.
func (s *slot) files(ctx context.Context, e *env, path string) ([]atomicfile.File, bool) {
	if s.store.Folder == "" {
		p, ok := s.fetch(ctx, e)
		return p.Files(path), ok
	}
	kept, err := s.store.Entry(s.key, s.all)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p, ok := s.get(ctx, e) // a small one, or the server's
		return p.Files(path), ok
	case err == nil:
		s.hit(e, kept.Summary, s.store.Folder)
		return kept.Files(path), true
	}
	unreadable(e, err)
	p, ok := s.fetch(ctx, e)
	return p.Files(path), ok
}

// put adds a pair to the cache. A failure is printed, but is not an error: the pair is still valid.
func (s *slot) put(e *env, p pair.Pair) {
	s.keep(e, func() error {
		if s.store.Folder == "" {
			return nil
		}
		return s.store.Put(s.key, p)
	})
}

// putResult adds the pair of a compilation, whose container went to o unless that is nil, and returns the pair.
func (s *slot) putResult(e *env, r *compile.Result, o *outFile) (pair.Pair, error) {
	p, err := r.Pair()
	if err != nil {
		return p, &internalError{err: err}
	}
	if s == nil || o == nil || s.store.Folder == "" {
		s.put(e, p)
		return p, nil
	}
	if err := o.staged.Sync(); err != nil {
		return p, err
	}
	sum, err := hex.DecodeString(r.Sum())
	if err != nil {
		return p, &internalError{err: err}
	}
	s.keep(e, func() error {
		err := s.store.PutFile(s.key, o.staged.Name(), int64(len(p.Container)), [sha256.Size]byte(sum), p)
		if errors.Is(err, errors.ErrUnsupported) {
			err = s.store.Put(s.key, p)
		}
		return err
	})
	return p, nil
}

// keep calls put unless the model was changed while it was compiled.
func (s *slot) keep(e *env, put func() error) {
	if s == nil {
		return
	}
	again, err := s.again()
	if err == nil && again != s.key {
		s.stale = true
		err = errors.New("the model's files changed while it was compiled")
	}
	if err == nil {
		err = put()
	}
	if err != nil {
		fmt.Fprintf(e.err, "zinc: not cached: %v\n", err)
	}
}

// shortKey is enough of a key to identify it in a message.
func shortKey(k pair.Key) string { return k.String()[:12] }

// pairOf returns the pair of a model from the cache, or compiles the model and adds the pair to the cache.
func (c *compileFlags) pairOf(ctx context.Context, e *env, path string) (pair.Pair, error) {
	f := c.compiler(e)
	if p, ok := f.Cached(ctx, path); ok {
		return p, nil
	}
	return f.Compile(ctx, path)
}

// compiler returns the compiler with its cache, as the runtime calls them. Compile is called after Cached.
func (c *compileFlags) compiler(e *env) e5rt.CompilerConfig {
	var kept *slot
	var failed error
	return e5rt.CompilerConfig{
		Cached: func(ctx context.Context, path string) (pair.Pair, bool) {
			if kept, failed = c.slot(ctx, e, path); failed != nil {
				return pair.Pair{}, false
			}
			return kept.get(ctx, e)
		},
		Compile: func(ctx context.Context, path string) (pair.Pair, error) {
			if failed != nil {
				return pair.Pair{}, failed
			}
			return c.compilePair(ctx, e, path, kept)
		},
	}
}

// compilePair compiles a model and adds the pair to the cache.
func (c *compileFlags) compilePair(ctx context.Context, e *env, path string, kept *slot) (p pair.Pair, err error) {
	m, err := c.open(e, path)
	if err != nil {
		return p, err
	}
	defer m.Close()
	c.tellUncached(e)
	r, err := c.compile(ctx, e, m, (*compile.Result).Files)
	if err != nil {
		return p, err
	}
	e.note("%s", r.Report.Line())
	if p, err = kept.putResult(e, r, nil); err == nil {
		kept.upload(ctx, e, p)
	}
	return p, err
}
