package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
)

// connection are the flags of a process that uses the machine of a daemon.
type connection struct {
	socket       string
	qos          string
	team         string
	entitlements []string
	base         string // file of the base model
	share        bool
	resident     uint64
	tier         string
	depth        int
	seat         int
}

func (c *connection) register(s *pflag.FlagSet, doc string) {
	s.StringVar(&c.socket, "connect", "", doc)
	s.StringVar(&c.qos, "qos", "", "quality of service of the work: `CLASS`, one of "+strings.Join(classNames(), ", "))
	s.StringVar(&c.team, "team", "", "`TEAM` that the process claims; processes of one team share programs")
	s.StringSliceVar(&c.entitlements, "entitlement", nil, "`KEY` that the process claims to hold (repeatable)")
	s.Var(newChoice(&c.tier, "restricted", "unrestricted"), "tier", "tier of the client: restricted or unrestricted")
	s.IntVar(&c.depth, "queue-depth", 0, "`N` requests of a model that may be under way at once (default the broker's)")
	s.IntVar(&c.seat, "seat", 0, "seat `N` of the client on a machine with --lockstep")
}

// entitled ends the help of a flag. The names of entitlements are wider than the help.
const entitled = "; with --connect it requires an entitlement, which zinc device broker names"

// registerLoad adds the flags of a command that loads a program.
func (c *connection) registerLoad(s *pflag.FlagSet) {
	s.StringVar(&c.base, "base", "", "base model of an adapter, a `PAIR`: the model shares it with others "+
		"and differs from it in coefficients only"+entitled)
	s.BoolVar(&c.share, "share", false, "let other processes of this user and team use the program that this "+
		"one loads"+entitled)
	s.Uint64Var(&c.resident, "resident", 0, "use resident program `N` of another process, which shares it, as "+
		"zinc top lists it, instead of loading one"+entitled)
}

func classNames() []string {
	var out []string
	for _, c := range broker.QoSClasses {
		out = append(out, c.Name)
	}
	return out
}

// check returns an error for flags without --connect and for an unknown class.
func (c *connection) check() error {
	if c.socket == "" && (c.qos != "" || c.team != "" || c.base != "" || len(c.entitlements) > 0 || c.share ||
		c.resident != 0 || c.tier != "restricted" || c.depth != 0 || c.seat != 0) {
		return usagef("--qos, --team, --base, --share, --resident, --tier, --queue-depth, --seat and --entitlement " +
			"require --connect")
	}
	if c.depth < 0 || c.seat < 0 {
		return usagef("--queue-depth=%d --seat=%d: want 0 or more", c.depth, c.seat)
	}
	_, err := c.class()
	return err
}

func (c *connection) class() (broker.QoS, error) {
	q, err := classNamed(c.qos)
	if err != nil {
		return 0, usagef("--qos: %w", err)
	}
	return q, nil
}

// classNamed returns the class of service of a name, 0 for "".
func classNamed(name string) (broker.QoS, error) {
	if name == "" {
		return 0, nil
	}
	for _, x := range broker.QoSClasses {
		if x.Name == name {
			return x.QoS, nil
		}
	}
	return 0, fmt.Errorf("unknown class %q; classes are %s", name, strings.Join(classNames(), ", "))
}

// identity returns the identity that the process claims.
func (c *connection) identity() broker.Identity {
	id := stack.Self(c.entitlements...)
	if c.team != "" {
		id.TeamID = c.team
	}
	_ = id.InTier(c.tier) // the flag takes only the names of tiers
	id.Seat = c.seat
	return id
}

// dial connects to the daemon.
func (c *connection) dial(ctx context.Context, mode numerics.Mode, workers int) (*stack.Process, error) {
	qos, err := c.class()
	if err != nil {
		return nil, err
	}
	p, err := stack.Dial(ctx, c.socket, c.identity(), qos, stack.Options{
		Numerics: sim.EngineNumerics(mode),
		Workers:  workers,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.socket, err)
	}
	return p, nil
}

// simulation loads a model into a process of the daemon's machine.
func (c *connection) simulation(ctx context.Context, load loading, mode numerics.Mode, workers int) (_ *simulation,
	err error) {
	r := &simulation{}
	if r.process, err = c.dial(ctx, mode, workers); err != nil {
		return nil, err
	}
	r.process.SetSharing(c.share, c.resident)
	r.process.SetQueueDepth(c.depth)
	if c.base != "" {
		b, err := pair.ReadOrContainer(c.base)
		if err != nil {
			return nil, errors.Join(err, r.process.Close())
		}
		r.process.SetBase(b.Container)
	}
	if r.model, err = load.into(ctx, r.process); err != nil {
		return nil, errors.Join(err, r.process.Close())
	}
	return r, nil
}
