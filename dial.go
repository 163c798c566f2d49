package zinc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
)

// DialOptions say who connects to a served machine. The zero value is an ordinary application of this user.
type DialOptions struct {
	// QoS is the quality of service of all work: "background", "utility", "default" (also ""), "user-initiated",
	// "user-interactive", and the classes "real-time", "system real-time" and "system-reserved", which need
	// entitlements.
	QoS string
	// Team is the team that the process claims; "" for the team of its user. Processes of one team share resident
	// programs.
	Team string
	// Entitlements are further keys that the process claims to hold, such as AdapterWeight.
	Entitlements []string
	// Tier is "restricted" (also ""), or "unrestricted" for a process that holds the access grant instead of the
	// baseline entitlement: methods with an entitlement of their own, such as adapters, are then refused.
	Tier string
	// QueueDepth is the number of requests of a model that may be under way at once; 0 for the broker's default. The
	// broker may grant fewer.
	QueueDepth int
	// Seat is the process's place, from 1 on, on a machine whose clients run in lockstep (zinc serve --lockstep). Such
	// a machine lets virtual time pass only while every client waits for an answer, so the same clients have the same
	// times in every run. Calls of one connection are then made one at a time. 0 is for machines that run their clients
	// as they come.
	Seat int
}

// AdapterWeight is the entitlement that OpenAdapter requires.
const AdapterWeight = broker.KeyAdapterWeight

// Connection is a connection to the machine that zinc serve runs. Several goroutines may use it.
type Connection struct{ process *stack.Process }

// Dial connects to the machine that zinc serve has on a Unix socket.
func Dial(ctx context.Context, socket string, o DialOptions) (*Connection, error) {
	qos := broker.QoS(0)
	for _, c := range broker.QoSClasses {
		if c.Name == o.QoS {
			qos = c.QoS
		}
	}
	if qos == 0 && o.QoS != "" {
		return nil, fmt.Errorf("unknown quality of service %q", o.QoS)
	}
	id := stack.Self(o.Entitlements...)
	if o.Team != "" {
		id.TeamID = o.Team
	}
	if err := id.InTier(o.Tier); err != nil {
		return nil, err
	}
	id.Seat = o.Seat
	p, err := stack.Dial(ctx, socket, id, qos, stack.Options{})
	if err != nil {
		return nil, ended(ctx, fmt.Errorf("%s: %w", socket, err))
	}
	p.SetQueueDepth(o.QueueDepth)
	return &Connection{p}, nil
}

// Think lets virtual time pass between two calls of a process that has a seat, and does nothing in others.
func (c *Connection) Think(d time.Duration) { c.process.Think(d) }

// Now returns the virtual time of a process that has a seat, 0 in others.
func (c *Connection) Now() time.Duration { return c.process.Now() }

// Open loads a pair on the machine. The caller must Close the model.
func (c *Connection) Open(ctx context.Context, p *Pair) (*Model, error) { return c.open(ctx, p, nil) }

// OpenAdapter loads a pair as an adapter of a base pair: its container may differ from the base's in coefficients only,
// as Patch makes it. The machine keeps the base's tasks once for all its adapters. The process must hold AdapterWeight.
func (c *Connection) OpenAdapter(ctx context.Context, p, base *Pair) (*Model, error) {
	return c.open(ctx, p, base)
}

func (c *Connection) open(ctx context.Context, p, base *Pair) (*Model, error) {
	m := &Model{running: make(chan struct{}, 1)}
	var err error
	if m.machine, err = sim.Open(p.files()); err != nil {
		return nil, ended(ctx, err)
	}
	if err := m.remote(ctx, c, base, numerics.ANE, 0); err != nil {
		return nil, ended(ctx, err)
	}
	m.close = m.unload
	return m.named()
}

// remote runs the model on another process's machine.
func (m *Model) remote(ctx context.Context, c *Connection, base *Pair, mode numerics.Mode, workers int) error {
	o := stack.Options{Numerics: sim.EngineNumerics(mode), Workers: workers}
	var container []byte
	if base != nil {
		container = base.Container
	}
	model, err := c.process.With(o, container).Load(ctx, m.machine)
	if err != nil {
		return err
	}
	m.run, m.keep, m.kept, m.unload = model.Run, model.Keep, model.Kept, model.Close
	return nil
}

// Close ends the connection and unloads what it has loaded.
func (c *Connection) Close() error {
	if err := c.process.Close(); err != nil {
		return errors.Join(errors.New("closing the connection"), err)
	}
	return nil
}
