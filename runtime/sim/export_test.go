package sim

import (
	"context"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
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
	for port, b := range surfaces {
		first[port] = &b[0]
	}
	d.First = append(d.First, first)
	return d.M.Infer(ctx, procedure, surfaces, Options{Numerics: numerics.ANE})
}

// Chain runs the procedures one after another.
func (d *Recorder) Chain(ctx context.Context, segments []Segment) error {
	for _, s := range segments {
		if err := d.Dispatch(ctx, s.Procedure, s.Surfaces); err != nil {
			return err
		}
	}
	return nil
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
