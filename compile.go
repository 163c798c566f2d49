package zinc

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cache"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Options configure a compilation. The zero value compiles as `zinc MODEL` does.
type Options struct {
	Target    string // "" for h13
	Precision string // "declared" (also "") or "fp16"
	// Place says what runs on the engine of what it can run: "auto" (also ""), what makes a call fastest by the
	// estimate; "compute", all that does not only move data; "engine", everything.
	Place string
	// Func is the function to compile; "" compiles all of them into one pair.
	Func string
	// Shapes are configurations of the inputs' shapes, by name, to compile into one pair instead of the default shapes.
	// The inputs of a run select one.
	Shapes []map[string][]int64
	// WeightsDir replaces "@model_path" in the model's text; "" means the model's own folder.
	WeightsDir string
	// OneSection puts the constants and the tasks into one segment instead of separate ones.
	OneSection bool
	// FullTD writes every record of a task in full, as old compilers did.
	FullTD bool
	// OperationSymbols names the operation of each task in the symbol table of the container.
	OperationSymbols bool

	// DebugDB fills Pair.Debug, which Pair.Patch needs.
	DebugDB bool

	// Workers is the number of goroutines that pack constants, 0 for one per processor. The bytes do not depend on it.
	Workers int
	// Warnings, if set, receives warnings about the model, as text.
	Warnings io.Writer
	// Cache is a folder of compiled pairs to read and write, "" for none; CacheBytes is its size limit, 0 for
	// unlimited. Any number of processes may share it. A model whose files are not known is compiled every time.
	// Compile refuses a folder to which others can write, because they would decide what runs, unless CacheTrust is
	// set.
	Cache      string
	CacheBytes int64
	CacheTrust bool
}

// Report describes a compilation: placement, tasks and sizes, operation by operation.
type Report = compile.Report

// Compile compiles the model at path: a .mlmodelc or .mlpackage folder, a .mlmodel with an ML program, a .mil file
// or a network description (.plist). Errors in the model's text are a *ModelError, with a place for each
// diagnostic. When ctx ends, Compile returns its error.
func Compile(ctx context.Context, path string, o Options) (*Pair, error) {
	store, key, cached := o.store(ctx, path)
	if cached {
		if err := store.Check(); err != nil {
			return nil, err
		}
	}
	if cached && !o.DebugDB {
		if kept, err := store.Get(key); err == nil {
			p := newPair(kept)
			p.Cached = true
			return p, nil
		}
	}
	p, err := o.compile(ctx, path)
	if err != nil {
		return nil, err
	}
	if cached {
		// The model may have changed meanwhile. The pair is valid even if the cache cannot keep it.
		if again, err := Key(ctx, path, o); err == nil && again == key {
			_ = store.Put(key, p.files())
		}
	}
	return p, nil
}

func (o *Options) store(ctx context.Context, path string) (s cache.Store, k pair.Key, ok bool) {
	if o.Cache == "" {
		return s, k, false
	}
	k, err := Key(ctx, path, *o)
	return o.folder(), k, err == nil
}

func (o *Options) compile(ctx context.Context, path string) (p *Pair, err error) {
	err = mapfault.Guard(func() (err error) { p, err = o.compileMapped(ctx, path); return err })
	return p, err
}

// compileMapped compiles the model at path, whose weights are mapped.
func (o *Options) compileMapped(ctx context.Context, path string) (*Pair, error) {
	c, err := o.compiler()
	if err != nil {
		return nil, err
	}
	m, err := frontend.Open(path, frontend.Options{WeightsDir: o.WeightsDir})
	if err != nil {
		return nil, modelError(err)
	}
	defer m.Close() // only read from
	if o.Warnings != nil && m.Warnings != nil && m.Warnings.Warnings() > 0 {
		if err := m.Warnings.WriteText(o.Warnings); err != nil {
			return nil, err
		}
	}
	c.InputName = filepath.Base(m.Path)
	var r compile.Result
	if err := compile.Compile(ctx, m.Program, c, r.Reported()); err != nil {
		return nil, modelError(err)
	}
	files, err := r.Pair()
	if err != nil {
		return nil, err
	}
	p := newPair(files)
	p.Report = r.Report
	return p, nil
}

// compiler converts the options to the options of package compile.
func (o *Options) compiler() (compile.Options, error) {
	c := compile.Options{
		Precision: o.Precision, Place: o.Place, SplitKernel: !o.OneSection, FullTD: o.FullTD, Func: o.Func,
		Shapes:     o.Shapes,
		Workers:    o.Workers,
		Provenance: o.DebugDB, Target: target.Default,
		OperationSymbols: o.OperationSymbols,
	}
	switch o.Precision {
	case "", passes.PrecisionDeclared, passes.PrecisionFP16:
	default:
		return c, fmt.Errorf("zinc: unknown precision %q; want declared or fp16", o.Precision)
	}
	switch o.Place {
	case "":
		c.Place = passes.PlaceAuto
	case passes.PlaceAuto, passes.PlaceCompute, passes.PlaceEngine:
	default:
		return c, fmt.Errorf("zinc: unknown place %q; want %s, %s or %s", o.Place, passes.PlaceAuto,
			passes.PlaceCompute,
			passes.PlaceEngine)
	}
	if o.Target != "" {
		var err error
		if c.Target, err = target.Lookup(o.Target); err != nil {
			return c, err
		}
	}
	return c, nil
}

// sums returns what finds the SHA-256 of a model's files: a cache remembers the sums of files that were not changed.
func (o *Options) sums() pair.SumFunc {
	if o.Cache == "" {
		return pair.HashFile
	}
	return o.folder().FileSum(false)
}

// folder returns the cache.
func (o *Options) folder() cache.Store {
	return cache.Store{Folder: o.Cache, MaxBytes: o.CacheBytes, Trust: o.CacheTrust}
}

// Key identifies the pair that Compile would return for a model by everything that can change a byte of it: this build
// of zinc, the options and every file of the model. Errors come from the file system, or wrap ErrUnknownFiles.
func Key(ctx context.Context, path string, o Options) (pair.Key, error) {
	c, err := o.compiler()
	if err != nil {
		return pair.Key{}, err
	}
	return pair.NewKey(ctx, path, o.WeightsDir, pair.Options{
		Target:           c.Target.Name,
		Precision:        cmp.Or(c.Precision, passes.PrecisionDeclared),
		Func:             c.Func,
		InputName:        filepath.Base(path),
		Place:            c.Place,
		Shapes:           c.Shapes,
		OneSection:       o.OneSection,
		FullTD:           o.FullTD,
		OperationSymbols: o.OperationSymbols,
	}, o.sums())
}
