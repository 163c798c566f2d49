package sim

import (
	"context"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// Recorder is a Dispatcher that runs an engine itself on what it is given.
type Recorder struct {
	M     *Machine
	Err   error              // when set, what Dispatch returns
	First []map[string]*byte // of each dispatch: the first bytes of the surfaces by port
}

func (d *Recorder) Dispatch(ctx context.Context, procedure string, surfaces map[string][]byte) error {
	if d.Err != nil {
		return d.Err
	}
	first := map[string]*byte{}
	s := &store{surfaces: map[string][]byte{}, scratch: map[uint64][]byte{}, proc: d.M.procs[procedure]}
	for port, b := range surfaces {
		first[port] = &b[0]
		s.surfaces[port] = b
	}
	d.First = append(d.First, first)
	return engine.New(engine.Options{}).Run(ctx, s.proc.tasks, s)
}

// PortNames returns the ports that the procedures' registers point at.
func (m *Machine) PortNames() []string {
	names := map[string]bool{}
	for _, p := range m.procs {
		for _, b := range p.bars {
			if b.port != "" {
				names[b.port] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
