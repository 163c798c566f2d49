package e5rt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/zinc-compiler/zinc/cache"
	"github.com/zinc-compiler/zinc/pair"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// CompilerOptions are the options of a compilation. All except ForceNew are part of the cache key.
type CompilerOptions struct {
	Target      string               // name; "" means the compiler's default
	Precision   string               // "declared" (also "") or "fp16"
	Place       string               // "auto", "compute" or "engine"; "" for the compiler's default
	SplitKernel bool                 // constants in segments of their own
	FullTD      bool                 // tasks with complete records
	Func        string               // "" means all functions
	Shapes      []map[string][]int64 // configurations of inputs, instead of the defaults
	// InputName is the name of the source in the descriptor; "" means the base name of the model's path.
	InputName string
	// Extra are options that this package does not interpret.
	Extra map[string]string
	// ForceNew compiles even when the cache holds the model.
	ForceNew bool
}

// CompileFunc compiles the model at a path. It must return the same bytes for the same files, options and version.
type CompileFunc func(ctx context.Context, modelPath string, o *CompilerOptions) (pair.Pair, error)

// CompilerConfig configures a compiler and its cache.
type CompilerConfig struct {
	Compile CompileFunc
	// Version is the version of the compiler. Compilers that may write different bytes must have different versions;
	// pair.ExecutableVersion returns a suitable one.
	Version string
	// Folder holds the cache and is created if necessary; "" means no cache. Any number of processes may share a
	// folder. A folder to which others can write is not used: compilations count as Unstored.
	Folder string
	// MaxBytes bounds the size of the folder; 0 means no bound. Entries used longest ago are removed first.
	MaxBytes int64
	// Inputs lists the files of the model at a path; nil means pair.Files.
	Inputs func(modelPath string) ([]pair.File, error)
}

// CompilerStats counts what a compiler did.
type CompilerStats struct {
	Compiles int // calls of CompileFunc
	Hits     int // libraries from the cache, or from a compilation that another call had started
	Refused  int // corrupt or incomplete cache entries
	Stored   int // entries written
	// Unstored counts compilations that could not be stored in the cache, and StoreErr is the error of the last one.
	// Their libraries are valid.
	Unstored int
	StoreErr error
}

// Compiler turns models into program libraries.
type Compiler struct {
	rt *Runtime
	id uint64
	c  CompilerConfig

	mu      sync.Mutex
	stats   CompilerStats
	flights map[pair.Key]*flight
}

// flight is a compilation under way.
type flight struct {
	done    chan struct{}
	machine *sim.Machine
	err     error
}

// NewCompiler is e5rt_e5_compiler_create.
func (rt *Runtime) NewCompiler(c CompilerConfig) (*Compiler, error) {
	object := word("compiler")
	e := (*Error)(nil)
	switch {
	case c.Compile == nil:
		e = &Error{
			Call:   callCompilerCreate,
			Object: string(object),
			Rule:   "CompilerConfig.Compile is nil",
			Do:     "set it",
			Err:    ErrArgument,
		}
	case c.Folder != "" && c.Version == "":
		e = &Error{
			Call:   callCompilerCreate,
			Object: string(object),
			Rule:   "CompilerConfig.Folder is set but CompilerConfig.Version is empty",
			Do:     "set it",
			Err:    ErrArgument,
		}
	}
	if e != nil {
		return nil, rt.called(callCompilerCreate, object, e)
	}
	if c.Inputs == nil {
		c.Inputs = func(modelPath string) ([]pair.File, error) { return pair.Files(modelPath, "") }
	}
	rt.mu.Lock()
	p := &Compiler{rt: rt, id: rt.id("compiler"), c: c, flights: map[pair.Key]*flight{}}
	rt.mu.Unlock()
	return p, rt.called(callCompilerCreate, p, nil)
}

// String names the compiler.
func (c *Compiler) String() string { return fmt.Sprintf("compiler %d", c.id) }

// Stats returns the counts so far.
func (c *Compiler) Stats() CompilerStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

func (c *Compiler) count(f func(*CompilerStats)) {
	c.mu.Lock()
	f(&c.stats)
	c.mu.Unlock()
}

// IsNewCompileRequired is e5rt_e5_compiler_is_new_compile_required: whether Compile would compile the model because the
// cache has no valid entry for it.
func (c *Compiler) IsNewCompileRequired(ctx context.Context, modelPath string, o *CompilerOptions) (bool, error) {
	if o == nil {
		o = &CompilerOptions{}
	}
	required := true
	err := error(nil)
	if !o.ForceNew && c.c.Folder != "" {
		var key pair.Key
		if key, err = c.Key(ctx, modelPath, o); err == nil {
			_, fault := c.load(key)
			required = fault != nil
		}
	}
	if err != nil {
		err = &Error{Call: callNewCompile, Object: c.String(), Rule: modelPath, Err: err}
	}
	return required, c.rt.called(callNewCompile, c, err, trace.Arg{Key: "required", Value: required})
}

// Compile is e5rt_e5_compiler_compile: the program library of the model at a path. A cache hit skips the compilation.
// Concurrent calls for one model compile it once.
func (c *Compiler) Compile(ctx context.Context, modelPath string, o *CompilerOptions) (*ProgramLibrary, error) {
	if o == nil {
		o = &CompilerOptions{}
	}
	l, err := c.compile(ctx, modelPath, o)
	if err != nil {
		return nil, c.rt.called(callCompile, c, &Error{
			Call:   callCompile,
			Object: c.String(),
			Rule:   modelPath,
			Err:    err,
		})
	}
	return l, c.rt.called(callCompile, c, nil, trace.Arg{Key: "library", Value: l.String()},
		trace.Arg{Key: "hit", Value: l.hit})
}

func (c *Compiler) compile(ctx context.Context, modelPath string, o *CompilerOptions) (*ProgramLibrary, error) {
	if c.c.Folder == "" {
		m, err := c.lower(ctx, modelPath, o)
		if err != nil {
			return nil, err
		}
		return c.rt.library(m, false), nil
	}
	key, err := c.Key(ctx, modelPath, o)
	if err != nil {
		return nil, err
	}
	for {
		f, mine := c.board(key)
		if mine {
			hit := c.fly(ctx, f, key, modelPath, o)
			if f.err != nil {
				return nil, f.err
			}
			return c.rt.library(f.machine, hit), nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if f.err == nil && !o.ForceNew {
			c.count(func(s *CompilerStats) { s.Hits++ })
			return c.rt.library(f.machine, true), nil
		}
		// What stopped the other call, for example its context, need not stop this one.
	}
}

// Key returns the key of a model. It reads all of its files.
func (c *Compiler) Key(ctx context.Context, modelPath string, o *CompilerOptions) (pair.Key, error) {
	if o == nil {
		o = &CompilerOptions{}
	}
	n := *o
	n.ForceNew = false
	if n.InputName == "" {
		n.InputName = filepath.Base(modelPath)
	}
	if len(n.Shapes) == 0 {
		n.Shapes = nil
	}
	if len(n.Extra) == 0 {
		n.Extra = nil
	}
	options, err := json.Marshal(&n) // maps are sorted by key
	if err != nil {
		return pair.Key{}, err
	}
	files, err := c.c.Inputs(modelPath)
	if err != nil {
		return pair.Key{}, err
	}
	return pair.KeyOf(ctx, c.c.Version, string(options), files, pair.HashFile)
}

func (c *Compiler) store() cache.Store {
	return cache.Store{Folder: c.c.Folder, MaxBytes: c.c.MaxBytes}
}

// board returns the compilation of a key that is under way, or a new one for the caller to run with fly.
func (c *Compiler) board(key pair.Key) (f *flight, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.flights[key]; ok {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	c.flights[key] = f
	return f, true
}

var errAbandoned = errors.New("e5rt: a compilation panicked in another call")

// fly fills f from the cache or by compiling.
func (c *Compiler) fly(ctx context.Context, f *flight, key pair.Key, modelPath string, o *CompilerOptions) (hit bool) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, key)
		c.mu.Unlock()
		close(f.done)
	}()
	if !o.ForceNew {
		var fault error
		if f.machine, fault = c.load(key); fault == nil {
			c.count(func(s *CompilerStats) { s.Hits++ })
			return true
		}
	}
	f.err = errAbandoned // what the waiting calls get if the compiler panics
	f.machine, f.err = c.lower(ctx, modelPath, o)
	if f.err != nil {
		return false
	}
	err := c.keep(ctx, key, modelPath, o, f.machine.Pair())
	c.count(func(s *CompilerStats) {
		if err == nil {
			s.Stored++
			return
		}
		s.Unstored++
		s.StoreErr = err
	})
	return false
}

// lower compiles a model and checks the result.
func (c *Compiler) lower(ctx context.Context, modelPath string, o *CompilerOptions) (*sim.Machine, error) {
	c.count(func(s *CompilerStats) { s.Compiles++ })
	p, err := c.c.Compile(ctx, modelPath, o)
	if err != nil {
		return nil, err
	}
	return sim.Open(p)
}

// load reads and checks a cache entry.
func (c *Compiler) load(key pair.Key) (*sim.Machine, error) {
	p, err := c.store().Get(key)
	if err == nil {
		m, e := sim.Open(p)
		if e == nil {
			return m, nil
		}
		err = &cache.EntryError{Path: c.store().Path(key), Rule: e.Error()}
	}
	if _, broken := err.(*cache.EntryError); broken {
		c.count(func(s *CompilerStats) { s.Refused++ })
	}
	return nil, err
}

// keep writes an entry, unless the model was changed while it was compiled.
func (c *Compiler) keep(ctx context.Context, key pair.Key, modelPath string, o *CompilerOptions, p pair.Pair) error {
	again, err := c.Key(ctx, modelPath, o)
	if err != nil {
		return err
	}
	if again != key {
		return fmt.Errorf("e5rt: the files of %s changed while it was compiled", modelPath)
	}
	return c.store().Put(key, p)
}
