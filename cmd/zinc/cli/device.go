package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// deviceCommand is the state of `zinc device` and of its subcommands.
type deviceCommand struct {
	runCommand
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
	parts     []devicePartJSON // with --json
}

// deviceJSON is what zinc device and its subcommands print with --json.
type deviceJSON struct {
	Sections []devicePartJSON `json:"sections"` // in order
}

// devicePartJSON is a section, or what a subcommand prints.
type devicePartJSON struct {
	Name  string   `json:"name"`  // of the section or the subcommand
	Lines []string `json:"lines"` // as the text has them
}

// part writes a section of the output under its name.
func (c *deviceCommand) part(name string, write func(w io.Writer) error) error {
	if !c.json {
		return write(c.out)
	}
	var b strings.Builder
	err := write(&b)
	p := devicePartJSON{name, []string{}}
	for line := range strings.Lines(b.String()) {
		p.Lines = append(p.Lines, strings.TrimSuffix(line, "\n"))
	}
	c.parts = append(c.parts, p)
	return err
}

// end writes the document of --json, also after an error.
func (c *deviceCommand) end(err error) error {
	if !c.json || c.parts == nil {
		return err
	}
	return errors.Join(err, jsonform.Document(c.out, deviceJSON{c.parts}))
}

// command runs a subcommand and ends the output.
func (c *deviceCommand) command(name string, run func(w io.Writer) error) error {
	return c.end(c.part(name, run))
}

func newDevice(e *env) *cobra.Command {
	c := &deviceCommand{runCommand: runCommand{env: e, engine: "sim"}}
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
		c.machineFlags.register(x.Flags())
		c.compileFlags.model(x.Flags())
		c.cache.register(x.Flags())
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
			return c.command("send", func(w io.Writer) error { return c.send(cmd.Context(), w, args) })
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
			return c.command("selector", func(w io.Writer) error { return c.selector(cmd.Context(), w, args) })
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
			return c.command("method", func(w io.Writer) error { return c.method(cmd.Context(), w, args) })
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
	if err := errors.Join(c.compileFlags.check(), c.machineFlags.check()); err != nil {
		return nil, err
	}
	var container []byte
	if c.file != "" {
		p, err := c.pair(ctx, c.file)
		if err != nil {
			return nil, err
		}
		container = p.Container
	}
	x := &probe{events: trace.Recording{MaxData: 64}}
	o := stack.Options{
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
	var err error
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
	for _, s := range sections {
		if c.sections == nil || slices.Contains(c.sections, s.name) {
			err := c.part(s.name, func(w io.Writer) error {
				if !c.json {
					fmt.Fprintf(w, "%s:\n", s.name)
				}
				s.write(w, x)
				return nil
			})
			failed = errors.Join(failed, err)
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

// section is a part of the output of `zinc device`.
type section struct {
	name  string
	write func(w io.Writer, x *probe)
}

var sections = []section{
	{"build", func(w io.Writer, x *probe) {
		for _, k := range driver.Kexts {
			fmt.Fprintf(w, "  %s %s: %s, class %s\n", k.Bundle, driver.KextBuild, k.Role, k.Class)
		}
	}},
	{"registry", func(w io.Writer, x *probe) {
		for _, e := range x.stack.Device.Registry() {
			open := ", while it is open"
			if slices.Contains(x.rest, e) {
				open = ""
			}
			fmt.Fprintf(w, "  %s %q%s\n", e.Class, e.Name, open)
		}
	}},
	{"properties", func(w io.Writer, x *probe) {
		p := x.stack.Device.Properties()
		for _, v := range p.Published() {
			fmt.Fprintf(w, "  %s: %s (%s)\n", v.Name, v.Value, v.Meaning)
		}
	}},
	{"status", func(w io.Writer, x *probe) {
		s := x.stack.Device.Status()
		fmt.Fprintf(w, "  clients %d, programs %d, waiting %d, recoveries %d\n", s.Clients, s.Programs, s.Pending,
			x.stack.Device.Recoveries())
		fmt.Fprintf(w, "  execution loop %s, load %d %%\n", x.stack.Device.Coprocessor().LoopState(),
			x.stack.Device.Coprocessor().Load())
	}},
	{"clients", func(w io.Writer, x *probe) {
		for _, s := range x.Clients() {
			d, i := s.Info(), s.Client().Info()
			fmt.Fprintf(w, "  %s: process %d, team %q, version %d %d, engines %d, subtype %d, timeout %v\n",
				s.Client().Class(), i.PID, i.TeamID, d.Version[0], d.Version[1], d.Engines, d.CPUSubtype, d.Timeout)
			fmt.Fprintf(w, "    privileged %t, data chaining %t, real-time %t, system priorities %t, memory %t, "+
				"data %t, hints %t, coalition hints %t, privileged memory %t\n", i.IsPrivileged, i.AllowDataChaining,
				i.RealtimePriority, i.SystemReservedPriorities, i.MemoryAccess, i.DataAccess, i.SetClientHints,
				i.ShareCoalitionHints, i.PrivilegedVMAccess)
		}
	}},
	{"power", func(w io.Writer, x *probe) {
		for i := range coprocessor.PMUEntries {
			at := uint64(coprocessor.PMUBase) + uint64(i)*coprocessor.PMUStride
			fmt.Fprintf(w, "  %#x: %#x\n", at, x.stack.Device.Coprocessor().PMU(at))
		}
	}},
	{"fabric", func(w io.Writer, x *probe) {
		for _, b := range coprocessor.FabricBits {
			fmt.Fprintf(w, "  bit %d, %s: %s\n", b.Bit, b.Name, b.Role)
		}
	}},
	{"channels", func(w io.Writer, x *probe) {
		for _, ch := range x.stack.Device.Coprocessor().Channels() {
			fmt.Fprintf(w, "  %d %s: %d slots, version %d, ready %t\n", ch.Index, ch.Name, ch.Slots, ch.Version,
				ch.Ready)
		}
		if r := x.stack.Device.Coprocessor().Rings(); r != nil {
			for _, s := range r.RPC().Dirty() {
				fmt.Fprintf(w, "  %s\n", s)
			}
		}
	}},
	{"events", func(w io.Writer, x *probe) {
		values := x.stack.Device.Coprocessor().Events()
		for _, id := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(w, "  event %d: %d\n", id, values[id])
		}
		if at, ok := x.stack.Device.Coprocessor().HeldUntil(); ok {
			fmt.Fprintf(w, "  a delayed notification arrives at %v\n", at)
		}
	}},
	{"tasks", func(w io.Writer, x *probe) {
		for _, t := range x.stack.Device.Coprocessor().Tasks() {
			fmt.Fprintf(w, "  %s: %s\n", t.Name, t.State)
		}
	}},
	{"pools", func(w io.Writer, x *probe) {
		for _, r := range x.stack.Device.Coprocessor().Pools() {
			fmt.Fprintf(w, "  %s: %d of %d available\n", r.Name, r.Available, r.Total)
		}
		r := x.stack.Device.Clock().Timers()
		fmt.Fprintf(w, "  %s of the host: %d of %d available\n", r.Name, r.Available, r.Total)
	}},
	{"counters", func(w io.Writer, x *probe) {
		s := x.stack.Device.Coprocessor().Stats()
		fmt.Fprintf(w, "  boots %d, calls %d, completed %d, tasks %d\n", s.Boots, s.Calls, s.Completed, s.Tasks)
		fmt.Fprintf(w, "  messages: ran %d, rejected %d, dropped %d, refused %d; doorbells %d, retries %d\n", s.Ran,
			s.Rejected, s.Dropped, s.Refused, s.Doorbells, s.Retries)
		fmt.Fprintf(w, "  faults %d, aborts %d, resets %d\n", s.Faults, s.Aborts, s.Resets)
		u := x.stack.Device.Unit().Stats()
		fmt.Fprintf(w, "  translation: %d frames in use, %d faults\n", u.FramesInUse, u.Faults)
		for _, f := range x.stack.Device.Unit().Faults() {
			fmt.Fprintf(w, "    %v\n", f)
		}
		if r := x.stack.Device.Coprocessor().Rings(); r != nil {
			for _, n := range r.Counts() {
				fmt.Fprintf(w, "  %s %s: %d\n", n.Name, n.Outcome, n.N)
			}
		}
		for k := range inject.Kind(inject.NumKinds) {
			if n := x.inject.Made(k); n > 0 {
				fmt.Fprintf(w, "  injected %s: %d\n", k, n)
			}
		}
	}},
	{"time", func(w io.Writer, x *probe) {
		spent := x.stack.Device.Clock().Spent()
		for i, d := range spent {
			if d != 0 {
				fmt.Fprintf(w, "  %s: %s us\n", cost.Cause(i), cost.Time(d))
			}
		}
	}},
	{"statistics", writeStatistics},
	{"log", func(w io.Writer, x *probe) {
		for _, l := range x.log {
			fmt.Fprintf(w, "  %s\n", l)
		}
	}},
	{"faults", func(w io.Writer, x *probe) {
		for _, d := range x.stack.Device.Dumps() {
			fmt.Fprintf(w, "  at %v: %s\n", d.At, d.Cause)
			for _, s := range d.Sections {
				fmt.Fprintf(w, "    %s: %s\n", s.Name, strings.ReplaceAll(s.Text, "\n", "\n      "))
			}
		}
	}},
}

// writeStatistics prints the statistics buffer of the last call.
func writeStatistics(w io.Writer, x *probe) {
	h, engines, err := x.Stats()
	switch {
	case err != nil:
		fmt.Fprintf(w, "  %v\n", err)
	case h == nil:
		fmt.Fprintf(w, "  no call has been made\n")
	default:
		fmt.Fprintf(w, "  magic %#x, timing %d ns, counter %d, words %d %d, descriptors %d bytes\n", h.Magic, h.Timing,
			h.Counter, h.Word0, h.Word1, h.Area)
	}
	for _, e := range engines {
		fmt.Fprintf(w, "  engine %d type %d: call %d, %d ns, %d tasks, %d calls\n", e.Index, e.Type, e.Call,
			e.Counters[0], e.Counters[1], e.Counters[2])
	}
}

func sectionNames() []string {
	var out []string
	for _, s := range sections {
		out = append(out, s.name)
	}
	return out
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

func (c *deviceCommand) send(ctx context.Context, w io.Writer, args []string) error {
	if len(args) == 0 {
		for i := range protocol.Rows {
			r := &protocol.Rows[i]
			fmt.Fprintf(w, "0x%02x 0x%04x %-46s %-16s %s\n", uint32(r.ID), r.Wire, r.Name, r.Way, r.Disposition)
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
		n := slices.Index(args, "+")
		if n < 0 {
			n = len(args)
		}
		if n == 0 {
			return usagef("want a command before and after each +")
		}
		channel, header, rest, err := headerOf(args[1:n])
		if err != nil {
			return err
		}
		values, err := numbers(rest)
		if err != nil {
			return err
		}
		commands = append(commands, command{name: args[0], channel: channel, header: header, values: values})
		args = args[min(n+1, len(args)):]
	}
	return c.probed(ctx, func(x *probe) error {
		log := len(x.log)
		defer func() {
			for _, line := range x.log[log:] {
				fmt.Fprintf(w, "log %s\n", line)
			}
		}()
		for _, m := range commands {
			text, err := x.Send(m.name, m.channel, m.header, m.values)
			fmt.Fprint(w, text)
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
				fmt.Fprintf(w, "notification %s", e.Name)
				for _, a := range e.Args {
					fmt.Fprintf(w, " %s=%v", a.Key, a.Value)
				}
				fmt.Fprintln(w)
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

func (c *deviceCommand) selector(ctx context.Context, w io.Writer, args []string) error {
	if len(args) == 0 {
		for _, t := range driver.ClientTypes {
			fmt.Fprintf(w, "%s: %s\n", t.Class, t.Role)
			for n := range t.Count {
				r, err := driver.DecodeDispatch(t.Methods, n)
				if err != nil {
					return err
				}
				s := r.Sizes
				fmt.Fprintf(w, "  %2d %-38s scalars in %d out %d, bytes in %d out %d\n", n,
					driver.HandlerName(r.Handler), s.ScalarIn, s.ScalarOut, s.StructIn, s.StructOut)
			}
		}
		return nil
	}
	n, err := numbers(args)
	if err != nil {
		return err
	}
	if n[0]>>32 != 0 {
		return usagef("selector %d exceeds 32 bits", n[0])
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
		call := func() error { return x.Selector(c.client, uint32(n[0])) }
		if raw {
			call = func() error { return x.Raw(c.client, uint32(n[0]), structure, c.size) }
		}
		err := call()
		var path []trace.Event
		for _, e := range x.events.Events[from:] {
			if e.Layer == trace.Driver || e.Layer == trace.Protocol {
				path = append(path, e)
			}
		}
		return errors.Join(err, trace.WriteText(w, path, raw))
	})
}

func (c *deviceCommand) method(ctx context.Context, w io.Writer, args []string) error {
	if len(args) == 0 {
		for _, m := range driver.Methods {
			fmt.Fprintf(w, "%-34s in %d out %d: %s", m.Name, m.In, m.Out, m.Role)
			if m.Reason != "" {
				fmt.Fprintf(w, "; unsupported: %s", m.Reason)
			}
			fmt.Fprintln(w)
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
		fmt.Fprint(w, text)
		return err
	})
}
