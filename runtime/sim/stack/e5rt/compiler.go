package e5rt

import (
	"context"
	"fmt"
	"sync"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// CompilerConfig says where a compiler gets compiled models. The options of a compilation are known to its functions.
type CompilerConfig struct {
	// Compile compiles the model at a path.
	Compile func(ctx context.Context, modelPath string) (pair.Pair, error)
	// Cached returns what Compile would return for the model at a path, if a cache has it. It may be nil.
	Cached func(ctx context.Context, modelPath string) (pair.Pair, bool)
}

// Compiler turns models into program libraries.
type Compiler struct {
	rt *Runtime
	id uint64
	c  CompilerConfig

	mu    sync.Mutex
	found map[string]*sim.Machine // by path: the cache has them
}

// NewCompiler is e5rt_e5_compiler_create.
func (rt *Runtime) NewCompiler(c CompilerConfig) (*Compiler, error) {
	if c.Compile == nil {
		object := word("compiler")
		return nil, rt.refuse(callCompilerCreate, object, ErrArgument, "CompilerConfig.Compile is nil", "set it")
	}
	rt.mu.Lock()
	p := &Compiler{rt: rt, id: rt.id("compiler"), c: c, found: map[string]*sim.Machine{}}
	rt.mu.Unlock()
	return p, rt.called(callCompilerCreate, p, nil)
}

// String names the compiler.
func (c *Compiler) String() string { return fmt.Sprintf("compiler %d", c.id) }

// IsNewCompileRequired is e5rt_e5_compiler_is_new_compile_required: whether Compile will compile the model, because no
// cache has it.
func (c *Compiler) IsNewCompileRequired(ctx context.Context, modelPath string) (bool, error) {
	m := c.cached(ctx, modelPath)
	c.mu.Lock()
	c.found[modelPath] = m
	c.mu.Unlock()
	return m == nil, c.rt.called(callNewCompile, c, nil)
}

// Compile is e5rt_e5_compiler_compile: the program library of the model at a path, from the cache if it is there. What
// the trace says does not depend on that.
func (c *Compiler) Compile(ctx context.Context, modelPath string) (*ProgramLibrary, error) {
	m, err := c.machine(ctx, modelPath)
	if err != nil {
		return nil, c.rt.refuse(callCompile, c, err, modelPath, "")
	}
	l := c.rt.library(m)
	return l, c.rt.called(callCompile, c, nil, trace.Text("library", l.String()))
}

// machine returns the opened model: what IsNewCompileRequired has found since the last call, or else what the cache
// has, or else what the compiler returns.
func (c *Compiler) machine(ctx context.Context, modelPath string) (*sim.Machine, error) {
	c.mu.Lock()
	m, asked := c.found[modelPath]
	delete(c.found, modelPath)
	c.mu.Unlock()
	if !asked {
		m = c.cached(ctx, modelPath)
	}
	if m != nil {
		return m, nil
	}
	p, err := c.c.Compile(ctx, modelPath)
	if err != nil {
		return nil, err
	}
	return sim.Open(p)
}

// cached returns the model if a cache has it and it opens, nil otherwise.
func (c *Compiler) cached(ctx context.Context, modelPath string) *sim.Machine {
	if c.c.Cached == nil {
		return nil
	}
	p, ok := c.c.Cached(ctx, modelPath)
	if !ok {
		return nil
	}
	m, err := sim.Open(p)
	if err != nil {
		return nil
	}
	return m
}
