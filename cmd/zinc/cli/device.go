package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// deviceCommand is the state of `zinc device` and of its subcommands.
type deviceCommand struct {
	pairCommand
	connect  connection
	sections []string
	file     string // pair or model, "" for none
	client   string // whose selector is called
	// structure has the bytes, in hexadecimal, and size the size of the structure of a selector that is called alone;
	// "" and -1 if what must come before it is done.
	structure string
	size      int
	internal  bool // an internal build of the driver
	runs      int  // calls of the program after a command
	waits     []string
	signals   []string
	parts     *node.Node // what is printed
}

// end writes the parts, also after an error.
func (c *deviceCommand) end(err error) error {
	switch {
	case c.parts == nil:
		return err
	case c.json:
		return errors.Join(err, jsonform.Document(c.out, c.parts))
	}
	return errors.Join(err, c.parts.WriteText(c.out))
}

// command runs a subcommand and ends the output.
func (c *deviceCommand) command(p *DevicePart, run func(n *partNode) error) error {
	n := newPartNode(p)
	c.parts = node.Object("", n.Node)
	return c.end(run(n))
}

func newDevice(e *env) *cobra.Command {
	c := &deviceCommand{pairCommand: pairCommand{env: e}}
	cmd := &cobra.Command{
		Use:   "device [FILE.hwx|MODEL]",
		Short: "Show the state of the simulated device, and call its driver and firmware",
		Long: `Device brings a simulated device up and prints what its driver and its firmware know:
build, registry, properties, selectors, power status, channels, tasks, pools, clients, the
firmware's log and, after a fault, the dumps. With a pair or a model it runs the first
procedure once before it prints, with a statistics buffer. With --signal it runs it once
more for each shared event, which that call signals; with --wait a last call waits for
shared events and runs when they have their values.

Its subcommands call the driver as a task that holds every entitlement: send, a command
of the firmware or one that the driver serves; selector, a selector of a user client;
method, a method of the direct-path client. The subcommand broker calls a method of the
broker as an application.`,
		Example: `  zinc device
  zinc device digits.mlmodelc --section statistics,log
  zinc device digits.hwx --inject exception@task --section faults
  zinc device digits.hwx --signal 7=1 --wait 7=1 --section events,log
  zinc device send PING
  zinc device send TRACE_ENABLE 1 --model digits.hwx --runs 1
  zinc device selector 4 --client direct --model digits.hwx`,
		GroupID: groupRun,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				c.file = args[0]
			}
			return c.end(c.show(cmd.Context()))
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.sections, "section", nil, "`SECTIONS` to print, comma-separated (default all): "+
		strings.Join(sectionNames(), ", "))
	f.StringArrayVar(&c.signals, "signal", nil, "`EVENT=VALUE`, or gpu:EVENT=VALUE for one of the graphics processor: "+
		"a call signals the shared event (repeatable)")
	f.StringArrayVar(&c.waits, "wait", nil, "`EVENT=VALUE`: the last call waits for the shared event (repeatable)")
	cmd.AddCommand(c.newSend(), c.newSelector(), c.newMethod(), c.newBroker())
	for _, x := range append(cmd.Commands(), cmd) {
		x.Flags().BoolVar(&c.json, "json", false, "print JSON")
		c.register(x.Flags())
	}
	return cmd
}

func (c *deviceCommand) newSend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send [COMMAND [VALUE ...] [+ COMMAND ...]]",
		Short: "Send a command to the firmware, or to the driver that serves it",
		Long: `Send posts a command of the control channel and prints its answer, the notifications
that come with it, and what the firmware logs.
Values are those of the body's fields, or the body's 32-bit words; size=, priority=,
program=, process= and procedure= are fields of the header, and channel=loop sends it on the
execution loop's channel. Commands separated by + go to the same
device, one after the other, on which the model of --model is resident.
Without a command, it lists all commands with their identifiers and who serves them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.command(&sendPart, func(n *partNode) error { return c.send(cmd.Context(), n, args) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.file, "model", "", "pair or `MODEL` to load")
	f.IntVar(&c.runs, "runs", 0, "`N` calls of its first procedure after the command")
	return cmd
}

func (c *deviceCommand) newSelector() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "selector [N]",
		Short: "Call a selector of a user client and show the path to the firmware",
		Long: `Selector calls a selector of a user client, after what must come before it, and prints
every step of the driver. Without a number, it lists the selectors with their sizes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.command(&selectorPart, func(n *partNode) error { return c.selector(cmd.Context(), n, args) })
		},
	}
	f := cmd.Flags()
	f.Var(newChoice(&c.client, "control", "direct", "hints"), "client", "user client: control, direct or hints")
	f.StringVar(&c.file, "model", "", "pair or `MODEL` for selectors that need a program")
	f.BoolVar(&c.internal, "internal", false, "an internal build of the driver, which has the debug selectors")
	f.StringVar(&c.structure, "structure", "", "call it with these bytes alone, in `HEX`, and zeros after them")
	f.IntVar(&c.size, "size", -1, "call it with a structure of `N` bytes (default the selector's size)")
	return cmd
}

func (c *deviceCommand) newMethod() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "method [NAME [VALUE ...]]",
		Short: "Call a method of the direct-path client",
		Long: `Method calls a method of the direct-path client and prints its results. Without a name, it
lists the methods.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.command(&methodPart, func(n *partNode) error { return c.method(cmd.Context(), n, args) })
		},
	}
	cmd.Flags().StringVar(&c.file, "model", "", "pair or `MODEL` to load first")
	return cmd
}

// probe is a machine with a prober and what was recorded of it.
type probe struct {
	*stack.Prober
	stack  *stack.Stack
	rest   []driver.RegistryEntry // before a client opened
	events trace.Recording
	log    []string
	inject *inject.Injector
}

// open builds the machine and reads the program.
func (c *deviceCommand) open(ctx context.Context) (*probe, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	var container []byte
	t, err := target.Lookup(c.target)
	if err != nil {
		return nil, err
	}
	if c.file != "" {
		p, err := c.pair(ctx, c.file)
		if err != nil {
			return nil, err
		}
		container = p.Container
		if f, err := hwx.Read(container); err == nil {
			if of, err := f.Target(); err == nil {
				t = of
			}
		}
	}
	x := &probe{events: trace.Recording{MaxData: 64}}
	o := stack.Options{
		Target:        t,
		Trace:         x.events.Tracer(),
		Strict:        c.strict,
		Workers:       c.workers,
		InternalBuild: c.internal,
		Terminal:      func(line string) { x.log = append(x.log, line) },
	}
	if c.inject != "" {
		spec, err := inject.Parse(c.inject)
		if err != nil {
			return nil, usagef("--inject: %w", err)
		}
		x.inject = inject.New(spec, c.seed)
		o.Inject = x.inject
	}
	if x.stack, err = stack.New(o); err != nil {
		return nil, err
	}
	x.rest = x.stack.Device.Registry()
	if x.Prober, err = x.stack.NewProber(container); err != nil {
		return nil, errors.Join(err, x.stack.Close())
	}
	return x, nil
}

func (x *probe) close() error { return errors.Join(x.Prober.Close(), x.stack.Close()) }

// show prints the sections of `zinc device`.
func (c *deviceCommand) show(ctx context.Context) error {
	for _, s := range c.sections {
		if !slices.Contains(sectionNames(), s) {
			return usagef("--section=%s: unknown section; sections are %s", s, strings.Join(sectionNames(), ", "))
		}
	}
	waits, err := sharedEvents("--wait", c.waits)
	if err != nil {
		return err
	}
	signals, err := sharedEvents("--signal", c.signals)
	if err != nil {
		return err
	}
	if c.file == "" && len(waits)+len(signals) > 0 {
		return usagef("--wait and --signal require a FILE.hwx or MODEL")
	}
	x, err := c.open(ctx)
	if err != nil {
		return err
	}
	var failed error
	if c.file != "" {
		failed = x.Run()
	}
	if failed == nil && len(waits)+len(signals) > 0 {
		failed = x.Fence(signals, waits)
	}
	c.parts = node.Object("")
	for i := range deviceSections {
		s := &deviceSections[i]
		if c.sections == nil || slices.Contains(c.sections, s.Name) {
			n := newPartNode(s)
			s.read(n, x)
			c.parts.Add(node.Text("%s:\n", s.Name), n.Node)
		}
	}
	if err := x.close(); err != nil && c.inject == "" {
		failed = errors.Join(failed, err)
	}
	return failed
}

// sharedEvents parses the values of a flag: EVENT=VALUE, or gpu:EVENT=VALUE.
func sharedEvents(flag string, values []string) ([]protocol.Event, error) {
	var out []protocol.Event
	for _, s := range values {
		e := protocol.Event{Type: coprocessor.EventShared}
		text, gpu := strings.CutPrefix(s, "gpu:")
		if gpu {
			e.Type = coprocessor.EventGPU
		}
		id, value, ok := strings.Cut(text, "=")
		n, err := numbers([]string{id, value})
		if !ok || err != nil {
			return nil, usagef("%s %q: want EVENT=VALUE, two numbers, as in 7=1", flag, s)
		}
		e.ID, e.Value = n[0], n[1]
		out = append(out, e)
	}
	return out, nil
}

// numbers parses values, in decimal or with a prefix.
func numbers(args []string) ([]uint64, error) {
	var out []uint64
	for _, s := range args {
		v, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			return nil, usagef("%q is not a number from 0 to 2^64-1", s)
		}
		out = append(out, v)
	}
	return out, nil
}

// headerOf takes the fields of a command's header from its arguments; without one the header names no program and no
// process.
func headerOf(args []string) (ch protocol.Channel, h protocol.Header, rest []string, err error) {
	h.ProgramID, h.ProcessID = -1, -1
	for _, a := range args {
		field, text, ok := strings.Cut(a, "=")
		if !ok {
			rest = append(rest, a)
			continue
		}
		if a == "channel=loop" {
			ch = protocol.Loop
			continue
		}
		v, err := strconv.ParseUint(text, 0, 31)
		if err != nil {
			return ch, h, nil, usagef("%s: want a number below 2^31", a)
		}
		switch field {
		case "size":
			h.Size = uint32(v)
		case "priority":
			h.Priority = uint32(v)
		case "program":
			h.ProgramID = int32(v)
		case "process":
			h.ProcessID = int32(v)
		case "procedure":
			h.ProcedureID = uint32(v)
		default:
			return ch, h, nil, usagef("%s: fields of the header are size, priority, program, process and procedure; "+
				"the channel is loop", a)
		}
	}
	return ch, h, rest, nil
}

func (c *deviceCommand) send(ctx context.Context, n *partNode, args []string) error {
	if len(args) == 0 {
		for i := range protocol.Rows {
			r := &protocol.Rows[i]
			n.row("commands[]", node.Hex(r.ID), node.Hex(r.Wire), r.Name, r.Way, r.Disposition)
		}
		return nil
	}
	type command struct {
		name    string
		channel protocol.Channel
		header  protocol.Header
		values  []uint64
	}
	var commands []command
	for len(args) > 0 {
		end := slices.Index(args, "+")
		if end < 0 {
			end = len(args)
		}
		if end == 0 {
			return usagef("want a command before and after each +")
		}
		channel, header, rest, err := headerOf(args[1:end])
		if err != nil {
			return err
		}
		values, err := numbers(rest)
		if err != nil {
			return err
		}
		commands = append(commands, command{name: args[0], channel: channel, header: header, values: values})
		args = args[min(end+1, len(args)):]
	}
	return c.probed(ctx, func(x *probe) error {
		log := len(x.log)
		defer func() {
			for _, line := range x.log[log:] {
				n.row("log[]", line)
			}
		}()
		for _, m := range commands {
			text, err := x.Send(m.name, m.channel, m.header, m.values)
			n.answers("", text)
			if err != nil {
				return err
			}
		}
		from := len(x.events.Events)
		for range c.runs {
			if err := x.Run(); err != nil {
				return err
			}
		}
		for _, e := range x.events.Events[from:] {
			if e.Layer == trace.Protocol && strings.Contains(e.Name, "NOTIFICATION") ||
				strings.HasSuffix(e.Name, "_EVENT") && e.Layer == trace.Protocol {
				args, text := node.Object(""), ""
				for _, a := range e.Args {
					args.Add(node.Value(a.Key, a.Value))
					text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
				}
				n.row("notifications[]", e.Name, args, text)
			}
		}
		return nil
	})
}

// probed calls f with a probe and closes it.
func (c *deviceCommand) probed(ctx context.Context, f func(x *probe) error) error {
	x, err := c.open(ctx)
	if err != nil {
		return err
	}
	err = f(x)
	if e := x.close(); err == nil && c.inject == "" {
		err = e
	}
	return err
}

// maxStructure is the maximum size of a structure in a message of IOKit.
const maxStructure = 4096

func (c *deviceCommand) selector(ctx context.Context, n *partNode, args []string) error {
	if len(args) == 0 {
		for _, t := range driver.ClientTypes {
			n.row("clients[]", t.Class, t.Role)
			for i := range t.Count {
				r, err := driver.DecodeDispatch(t.Methods, i)
				if err != nil {
					return err
				}
				s := r.Sizes
				n.row("clients[].selectors[]", i, driver.HandlerName(r.Handler), s.ScalarIn, s.ScalarOut, s.StructIn,
					s.StructOut)
			}
		}
		return nil
	}
	values, err := numbers(args)
	if err != nil {
		return err
	}
	if values[0]>>32 != 0 {
		return usagef("selector %d exceeds 32 bits", values[0])
	}
	structure, err := hex.DecodeString(c.structure)
	if err != nil {
		return usagef("--structure: %w", err)
	}
	if c.size < -1 || c.size > maxStructure {
		return usagef("--size=%d: want 0 to %d", c.size, maxStructure)
	}
	raw := c.structure != "" || c.size >= 0
	return c.probed(ctx, func(x *probe) error {
		from := len(x.events.Events)
		call := func() error { return x.Selector(c.client, uint32(values[0])) }
		if raw {
			call = func() error { return x.Raw(c.client, uint32(values[0]), structure, c.size) }
		}
		err := call()
		var path []trace.Event
		for _, e := range x.events.Events[from:] {
			if e.Layer == trace.Driver || e.Layer == trace.Protocol {
				path = append(path, e)
			}
		}
		return errors.Join(err, n.events("events[]", path, raw))
	})
}

func (c *deviceCommand) method(ctx context.Context, n *partNode, args []string) error {
	if len(args) == 0 {
		for _, m := range driver.Methods {
			unsupported := ""
			if m.Reason != "" {
				unsupported = "; unsupported: " + m.Reason
			}
			n.row("methods[]", m.Name, m.In, m.Out, m.Role, m.Reason, unsupported)
		}
		return nil
	}
	values, err := numbers(args[1:])
	if err != nil {
		return err
	}
	return c.probed(ctx, func(x *probe) error {
		if c.file != "" {
			if err := x.Run(); err != nil {
				return err
			}
		}
		text, err := x.Method(args[0], values)
		n.answers("", text)
		return err
	})
}
