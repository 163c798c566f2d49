package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// pipeline prepares pairs or models that run one after the other: an input that an earlier one has as an output takes
// that, and the others are inputs of the whole.
func (c *runCommand) pipeline(ctx context.Context, paths []string, mode numerics.Mode) (_ *executor, err error) {
	if c.trace != "" || c.replay != "" || c.timing || c.connect.socket != "" || len(c.shapes) > 0 || c.function != "" {
		return nil, usagef("several models run without --trace, --replay, --timing, --connect, --shape and --func")
	}
	var list []*executor
	closeAll := func() (err error) {
		for _, x := range list {
			err = errors.Join(err, x.close())
		}
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	p, holders := &executor{close: closeAll}, map[string]*executor{}
	named := func(ps []port, name string) *port {
		if i := slices.IndexFunc(ps, func(p port) bool { return p.name == name }); i >= 0 {
			return &ps[i]
		}
		return nil
	}
	for _, path := range paths {
		x, err := c.executor(ctx, path, mode)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		for _, in := range x.inputs {
			if from := named(p.outputs, in.name); from != nil {
				if !from.typ.Fits(in.typ) {
					return nil, fmt.Errorf("%s: input %q is %s, and the output of that name before it %s", path,
						in.name, in.typ, from.typ)
				}
			} else if named(p.inputs, in.name) == nil {
				p.inputs = append(p.inputs, in)
			}
		}
		for _, out := range x.outputs {
			if named(p.outputs, out.name) != nil {
				return nil, fmt.Errorf("%s: output %q is one of a model before it, too", path, out.name)
			}
		}
		p.outputs = append(p.outputs, x.outputs...)
		for _, s := range x.states {
			if holders[s.name] != nil {
				return nil, fmt.Errorf("%s: state %q is one of a model before it, too", path, s.name)
			}
			holders[s.name] = x
		}
		p.states = append(p.states, x.states...)
	}
	p.setState = func(name string, t interp.Tensor) error { return holders[name].setState(name, t) }
	p.state = func(name string) (interp.Tensor, error) { return holders[name].state(name) }
	p.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode,
		workers int) (map[string]interp.Tensor, error) {
		known, out := maps.Clone(in), map[string]interp.Tensor{}
		for _, x := range list {
			own := map[string]interp.Tensor{}
			for _, i := range x.inputs {
				own[i.name] = known[i.name]
			}
			got, err := x.run(ctx, own, mode, workers)
			if err != nil {
				return nil, err
			}
			maps.Copy(known, got)
			maps.Copy(out, got)
		}
		return out, nil
	}
	return p, nil
}
