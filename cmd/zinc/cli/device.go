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
	"github.com/spf13/pflag"

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
	unsigned  bool // the program has no signature
	runs      int  // calls of the program after a command
	waits     []string
	signals   []string
	doorbells []string
	boot      []string
	role      string     // of the task that calls the driver
	team      string     // of its direct-path client; "" for the control client's
	keys      []string   // further entitlements of the task
	layers    []string   // of the broker's steps
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

Its subcommands call the driver: send, a command of the firmware or one that the driver
serves; selector, a selector of a user client; method, a method of the direct-path client.
The task that calls holds every entitlement; --as and --entitlement make it another. The
subcommand broker calls a method of the broker as an application.

A bring-up finds what --boot sets instead of its own values:
` + bootValues(),
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
	f.StringArrayVar(&c.signals, "signal", nil, "`EVENT=VALUE`, or gpu:EVENT=VALUE for one of the graphics processor: "+
		"a call signals the shared event (repeatable)")
	f.StringArrayVar(&c.doorbells, "doorbell", nil, "`SLOT=REGISTER:BIT`: a doorbell of the host that signalled "+
		"events ring besides the client's; slots are waiter and telemetry (repeatable)")
	f.StringArrayVar(&c.waits, "wait", nil, "`EVENT=VALUE`: the last call waits for the shared event (repeatable)")
	cmd.AddCommand(c.newSend(), c.newSelector(), c.newMethod(), c.newBroker())
	for _, x := range append(cmd.Commands(), cmd) {
		x.Flags().BoolVar(&c.json, "json", false, "print JSON")
		c.register(x.Flags())
		if x.Name() != "broker" {
			c.registerTask(x.Flags())
		}
	}
	return cmd
}

// registerTask adds the flags of the task that calls the driver, and of what its bring-up finds.
func (c *deviceCommand) registerTask(s *pflag.FlagSet) {
	var names, docs []string
	for _, r := range stack.Roles {
		names, docs = append(names, r.Name), append(docs, r.Name+" "+r.Doc)
	}
	s.Var(newChoice(&c.role, names...), "as", "task that calls the driver: "+strings.Join(docs, "; "))
	s.StringVar(&c.team, "team", "", "`TEAM` of the direct-path client (default that of the control client, whose "+
		"programs its requests name)")
	s.StringSliceVar(&c.keys, "entitlement", nil, "`KEY` that the task holds besides (repeatable)")
	s.StringSliceVar(&c.sections, "section", nil, "`SECTIONS` to print, comma-separated (default all of zinc device, "+
		"none of its subcommands): "+strings.Join(sectionNames(), ", "))
	s.BoolVar(&c.unsigned, "unsigned", false, "pass the program to the driver without the daemon's signature")
	s.StringArrayVar(&c.boot, "boot", nil, "`NAME=VALUE` that the bring-up finds (repeatable)")
}

// bootValues lists the names of --boot.
func bootValues() string {
	var s strings.Builder
	for i, v := range coprocessor.BootValues {
		sep := ";\n"
		if i == len(coprocessor.BootValues)-1 {
			sep = "."
		}
		fmt.Fprintf(&s, "  %s: %s%s", v.Name, v.Doc, sep)
	}
	return s.String()
}

// booted parses the values of --boot.
func (c *deviceCommand) booted() (map[string]uint64, error) {
	out := map[string]uint64{}
	for _, s := range c.boot {
		name, text, _ := strings.Cut(s, "=")
		v, err := strconv.ParseUint(text, 0, 64)
		known := slices.ContainsFunc(coprocessor.BootValues, func(b coprocessor.BootValue) bool {
			return b.Name == name
		})
		if !known || err != nil {
			return nil, usagef("--boot %q: want NAME=VALUE, a name of zinc device --help and a number, as in "+
				"chip=0x61", s)
		}
		out[name] = v
	}
	return out, nil
}

// ringing parses the values of --doorbell and sets the doorbells.
func (c *deviceCommand) ringing(p *stack.Prober) error {
	for _, s := range c.doorbells {
		name, text, _ := strings.Cut(s, "=")
		reg, bit, _ := strings.Cut(text, ":")
		n, err := numbers([]string{reg, bit})
		slot := map[string]int{"waiter": coprocessor.TargetWaiter, "telemetry": coprocessor.TargetTelemetry}[name]
		if slot == 0 || err != nil || n[1] > 31 {
			return usagef("--doorbell %q: want SLOT=REGISTER:BIT, a slot waiter or telemetry, a register and a bit "+
				"from 0 to 31, as in telemetry=0x206460100:5", s)
		}
		if err := p.SetTarget(slot, n[0], uint32(n[1])); err != nil {
			return err
		}
	}
	return nil
}

func (c *deviceCommand) newSend() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send [COMMAND [VALUE ...] [+ COMMAND ...]]",
		Short: "Send a command to the firmware, or to the driver that serves it",
		Long: `Send posts a command of the control channel and prints its answer, the notifications
that come with it, and what the firmware logs.
Values are those of the body's fields, or the body's 32-bit words; size=, priority=,
program=, process= and procedure= are fields of the header. channel=loop sends it on the
execution loop's channel, with wire= as another of its identifiers; wait=no does not wait
for its end, and doorbell=no leaves it to the next command's doorbell. Commands separated
by + go to the same device, one after the other, on which the model of --model is resident.
Without a command, it lists all commands with their identifiers, their subsystem and who
serves them, and those of the execution loop's channel.`,
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
		Use:   "selector [N [+ N ...]]",
		Short: "Call a selector of a user client and show the path to the firmware",
		Long: `Selector calls a selector of a user client, after what must come before it, and prints
every step of the driver. Selectors separated by + are calls of one client, one after the
other. Without a number, it lists the selectors with their sizes.`,
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
		Use:   "method [NAME [VALUE ...] [+ NAME ...]]",
		Short: "Call a method of the direct-path client",
		Long: `Method calls a method of the direct-path client and prints its results. Methods separated
by + are calls of one client. Without a name, it lists the methods.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.command(&methodPart, func(n *partNode) error { return c.method(cmd.Context(), n, args) })
		},
	}
	cmd.Flags().StringVar(&c.file, "model", "", "pair or `MODEL` to load first, which is called once")
	cmd.Flags().IntVar(&c.runs, "runs", 0, "`N` further calls of its first procedure after the methods")
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
	for _, s := range c.sections {
		if !slices.Contains(sectionNames(), s) {
			return nil, usagef("--section=%s: unknown section; sections are %s", s, strings.Join(sectionNames(), ", "))
		}
	}
	boot, err := c.booted()
	if err != nil {
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
		Boot:          boot,
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
	if x.Prober, err = x.stack.NewProber(container, c.role, c.team, c.keys); err != nil {
		return nil, errors.Join(err, x.stack.Close())
	}
	x.Prober.Unsigned = c.unsigned
	if err := c.ringing(x.Prober); err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *probe) close() error { return errors.Join(x.Prober.Close(), x.stack.Close()) }

// show prints the sections of `zinc device`.
func (c *deviceCommand) show(ctx context.Context) error {
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
	if c.sections == nil {
		c.sections = sectionNames()
	}
	c.addSections(x)
	if err := x.close(); err != nil && c.inject == "" {
		failed = errors.Join(failed, err)
	}
	return failed
}

// addSections adds the sections of --section.
func (c *deviceCommand) addSections(x *probe) {
	for i := range deviceSections {
		s := &deviceSections[i]
		if slices.Contains(c.sections, s.Name) {
			n := newPartNode(s)
			s.read(n, x)
			c.parts.Add(node.Text("%s:\n", s.Name), n.Node)
		}
	}
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

// commandOf reads a command from its arguments; without fields the header names no program and no process.
func commandOf(args []string) (m stack.Command, err error) {
	m.Name = args[0]
	h := &m.Header
	h.ProgramID, h.ProcessID = -1, -1
	var rest []string
	for _, a := range args[1:] {
		field, text, ok := strings.Cut(a, "=")
		switch {
		case !ok:
			rest = append(rest, a)
			continue
		case a == "channel=loop":
			m.Channel = protocol.Loop
			continue
		case a == "wait=no":
			m.Post = true
			continue
		case a == "doorbell=no":
			m.Mute = true
			continue
		}
		v, err := strconv.ParseUint(text, 0, 31)
		if err != nil {
			return m, usagef("%s: want a number below 2^31", a)
		}
		switch field {
		case "size":
			h.Size = uint32(v)
		case "wire":
			m.Wire = uint16(v)
		case "priority":
			h.Priority = uint32(v)
		case "program":
			h.ProgramID = int32(v)
		case "process":
			h.ProcessID = int32(v)
		case "procedure":
			h.ProcedureID = uint32(v)
		default:
			return m, usagef("%s: fields of the header are size, priority, program, process, procedure and wire; the "+
				"channel is loop, wait and doorbell are no", a)
		}
	}
	m.Values, err = numbers(rest)
	return m, err
}

func (c *deviceCommand) send(ctx context.Context, n *partNode, args []string) error {
	if len(args) == 0 {
		for i := range protocol.Rows {
			r := &protocol.Rows[i]
			n.row("commands[]", node.Hex(r.ID), node.Hex(r.Wire), r.Name, r.Way, r.Subsystem, r.Disposition)
		}
		for _, r := range protocol.ExeLoop {
			n.row("loop[]", node.Hex(r.Wire), r.Meaning, r.VTable, r.Does)
		}
		return nil
	}
	calls, err := byPlus(args)
	if err != nil {
		return err
	}
	var commands []stack.Command
	for _, call := range calls {
		m, err := commandOf(call)
		if err != nil {
			return err
		}
		commands = append(commands, m)
	}
	return c.probed(ctx, func(x *probe) error {
		log := len(x.log)
		defer func() {
			for _, line := range x.log[log:] {
				n.row("log[]", line)
			}
		}()
		for _, m := range commands {
			text, err := x.Send(m)
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
	c.addSections(x)
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
	calls, err := byPlus(args)
	if err != nil {
		return err
	}
	var selectors []uint32
	for _, call := range calls {
		v, err := strconv.ParseUint(call[0], 0, 32)
		if err != nil || len(call) > 1 {
			return usagef("selector %q: want a number of 32 bits, or several separated by +", strings.Join(call, " "))
		}
		selectors = append(selectors, uint32(v))
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
		call := x.Selector
		if raw {
			call = func(client string, n uint32) error { return x.Raw(client, n, structure, c.size) }
		}
		err := error(nil)
		for i := 0; err == nil && i < len(selectors); i++ {
			err = call(c.client, selectors[i])
		}
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
	calls, err := byPlus(args)
	if err != nil {
		return err
	}
	var values [][]uint64
	for _, a := range calls {
		v, err := numbers(a[1:])
		if err != nil {
			return err
		}
		values = append(values, v)
	}
	return c.probed(ctx, func(x *probe) error {
		if c.file != "" {
			if err := x.Run(); err != nil {
				return err
			}
		}
		for i, a := range calls {
			text, err := x.Method(a[0], values[i])
			n.answers("", text)
			if err != nil {
				return err
			}
		}
		for range c.runs {
			if err := x.Run(); err != nil {
				return err
			}
		}
		return nil
	})
}

// byPlus divides arguments at each +.
func byPlus(args []string) ([][]string, error) {
	out := [][]string{nil}
	for _, a := range args {
		if a == "+" {
			out = append(out, nil)
		} else {
			out[len(out)-1] = append(out[len(out)-1], a)
		}
	}
	if slices.ContainsFunc(out, func(call []string) bool { return len(call) == 0 }) {
		return nil, usagef("want a name before and after each +")
	}
	return out, nil
}
