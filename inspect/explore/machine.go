package explore

import (
	"context"
	"errors"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// engines lists what can run a pair, the default first: the whole stack from the runtime down to the engine, or the
// engine alone.
var engines = []string{"sim", "direct"}

// appPID is the number of the process that runs a model in the stack.
const appPID = 501

// loaded is a loaded pair.
type loaded struct {
	machine *sim.Machine
	run     func(ctx context.Context, in map[string]interp.Tensor) (map[string]interp.Tensor, error)
	close   func() error
}

// load loads a pair for one of the engines, which both compute the same bits. done is called after every task, in
// order.
func (s *Server) load(ctx context.Context, p pair.Pair, by string, mode numerics.Mode, done func()) (_ *loaded,
	err error) {
	calls := int64(s.limits.Buffers)
	machine, err := sim.Open(p)
	if err != nil {
		return nil, err
	}
	if by == "direct" {
		return &loaded{machine, func(ctx context.Context, in map[string]interp.Tensor) (map[string]interp.Tensor,
			error) {
			return machine.Run(ctx, in, sim.Options{Numerics: mode, CallBytes: calls, Trace: func(_ string,
				e *engine.Event) {
				if e != nil {
					done()
				}
			}})
		}, func() error { return nil }}, nil
	}
	events := trace.New(func(e trace.Event) {
		if e.Layer == trace.Engine {
			done()
		}
	})
	device, err := stack.New(stack.Options{
		Target: machine.Target(), Numerics: sim.EngineNumerics(mode), CallBytes: calls, Trace: events,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			device.Close()
		}
	}()
	process, err := device.Connect(stack.Application(appPID), 0)
	if err != nil {
		return nil, err
	}
	m, err := process.Load(ctx, machine)
	if err != nil {
		return nil, err
	}
	return &loaded{machine, m.Run, func() error {
		return errors.Join(m.Close(), process.Close(), device.Close())
	}}, nil
}
