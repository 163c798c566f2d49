package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/target"
)

// pairCommand is what commands share that run a pair, or a model that they compile in memory first, on a simulated
// machine.
type pairCommand struct {
	*env
	compileFlags
	machineFlags
	json bool
}

func (c *pairCommand) register(f *pflag.FlagSet) {
	c.machineFlags.register(f)
	c.model(f)
	c.cache.register(f)
}

func (c *pairCommand) check() error {
	return errors.Join(c.compileFlags.check(), c.machineFlags.check())
}

// pair returns the pair at path, or compiles the model there.
func (c *pairCommand) pair(ctx context.Context, path string) (pair.Pair, error) {
	compiled, err := c.isPair(path)
	if err != nil {
		return pair.Pair{}, err
	}
	if compiled {
		return c.read(path)
	}
	return c.pairOf(ctx, c.env, path)
}

// read reads a pair, or a container without a descriptor beside it.
func (c *pairCommand) read(path string) (pair.Pair, error) {
	p, err := pair.Reader(c.whole).ReadOrContainer(path)
	if err == nil && p.Alone() {
		c.note("missing descriptor %s; running the container on the tensors that it binds",
			pair.PathsOf(path).Descriptor)
	}
	return p, err
}

// loading returns the loading of the pair at path, which is read, or of the model there, which the runtime of the
// process compiles.
func (c *pairCommand) loading(path string, compiled bool) (loading, error) {
	if !compiled {
		t, err := target.Lookup(c.target)
		return loading{t, func(ctx context.Context, p *stack.Process) (*stack.Model, error) {
			return p.Compile(ctx, path, c.compiler(c.env))
		}}, err
	}
	p, err := c.read(path)
	if err != nil {
		return loading{}, err
	}
	l, err := loadingPair(p)
	if err != nil {
		return loading{}, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}
