package explore

import (
	"context"
	"errors"

	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// engines are what runs a pair, as `zinc run --engine` names them, the default
// first: the whole stack from the runtime down to the engine, or the engine alone.
var engines = []string{"sim", "direct"}

// appPID is the number of the process that runs a model in the stack.
const appPID = 501

// loaded is a pair that is ready to run.
type loaded struct {
	machine *sim.Machine
	run     func(ctx context.Context, in map[string]interp.Tensor) (map[string]interp.Tensor, error)
	close   func() error
}

// load makes a pair ready for one of the engines. Either gives the same bits.
func (s *Server) load(container, descriptor []byte, by string, mode numerics.Mode) (_ *loaded, err error) {
	calls := int64(s.limits.Buffers)
	if by == "direct" {
		m, err := sim.Load(container, descriptor)
		if err != nil {
			return nil, err
		}
		return &loaded{m, func(ctx context.Context, in map[string]interp.Tensor) (map[string]interp.Tensor, error) {
			return m.Run(ctx, in, sim.Options{Numerics: mode, CallBytes: calls})
		}, func() error { return nil }}, nil
	}
	device, err := stack.New(stack.Options{Numerics: sim.EngineNumerics(mode), CallBytes: calls})
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
	m, err := process.Load(e5rt.Pair{Container: container, Descriptor: descriptor})
	if err != nil {
		return nil, err
	}
	return &loaded{m.Machine(), m.Run, func() error {
		return errors.Join(m.Close(), process.Close(), device.Close())
	}}, nil
}
