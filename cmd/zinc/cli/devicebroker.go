package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// newBroker returns `zinc device broker`.
func (c *deviceCommand) newBroker() *cobra.Command {
	caller := &stack.Caller{}
	cmd := &cobra.Command{
		Use:   "broker [METHOD [+ METHOD ...]]",
		Short: "Call a method of the broker",
		Long: `Broker calls methods of the broker as a process that holds com.apple.aned.private.allow
and the entitlements that --entitlement adds, and prints their results and, on a machine of
its own, what the broker did. What must come before a method is done first. Methods separated
by + are calls of one process; those after process=TEAM are calls of another process, of that
team, which may attach to the program that the first has loaded.
Without a method, it lists the broker's entitlements, with how many programs of the system hold
each, and its methods with the entitlements that their arguments require.`,
		Example: `  zinc device broker
  zinc device broker compileModel + compileModel + purgeModels --model digits.mlmodelc
  zinc device broker createInstance + evaluate --power-saving --model digits.hwx`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.command(&brokerPart, func(n *partNode) error { return c.broker(cmd, n, args, caller) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.file, "model", "", "pair or `MODEL`")
	c.connect.register(f, "call the broker of the daemon on this `SOCKET`")
	f.StringVar(&c.connect.base, "base", "",
		"base model of createInstanceWithWeights, a `PAIR`, of which the model is an adapter")
	f.BoolVar(&caller.Secondary, "secondary", false, "compile with the longer-duration compiler service")
	f.BoolVar(&caller.Share, "share", false, "let other processes of the same identity share the program")
	f.BoolVar(&caller.Instance.EnablePowerSaving, "power-saving", false,
		"release the program's memory before that of others")
	f.BoolVar(&caller.Instance.AggressivePowerSaving, "aggressive-power-saving", false,
		"release the program's memory whenever nothing runs")
	f.BoolVar(&caller.Instance.OptOutOfModelMemoryUnwiring, "keep-wired", false, "keep the program's memory")
	f.StringSliceVar(&c.layers, "layers", []string{trace.Broker.String()}, "`LAYERS` whose steps are printed, "+
		"comma-separated, as zinc stack has them")
	f.BoolVar(&caller.AllPartitions, "all-partitions", false, "purge the models of all tenants")
	return cmd
}

func (c *deviceCommand) broker(cmd *cobra.Command, n *partNode, args []string, caller *stack.Caller) error {
	if len(args) == 0 {
		for _, e := range broker.Entitlements {
			count := "not counted"
			if e.Holders > 0 {
				count = fmt.Sprintf("%d holders", e.Holders)
			}
			n.row("entitlements[]", e.Key, e.Holders, e.HolderNote, count, e.Capability)
		}
		for _, m := range broker.Methods {
			n.row("methods[]", m.Name, m.Doc)
			for _, g := range m.Gates {
				n.row("methods[].arguments[]", "", g.Argument, g.Key)
			}
		}
		return nil
	}
	ctx := cmd.Context()
	caller.Instance.QueueDepth = c.connect.depth
	if err := checkLayers(c.layers); err != nil {
		return err
	}
	var methods []string
	for i, a := range args {
		if i%2 == 0 {
			methods = append(methods, a)
		} else if a != "+" {
			return usagef("want + between two methods, got %q", a)
		}
	}
	if len(args)%2 == 0 {
		return usagef("want a method after each +")
	}
	qos, err := classNamed(c.connect.qos)
	if err != nil {
		return usagef("--qos: %w", err)
	}
	if err := c.subjectOf(ctx, cmd.Flags(), methods, caller); err != nil {
		return err
	}
	var events trace.Recording
	connect, closer, err := c.callerProcess(ctx, &events, qos)
	if err != nil {
		return err
	}
	p, err := connect(c.connect.team)
	if err != nil {
		return errors.Join(err, closer())
	}
	caller = p.Caller(caller)
	for _, m := range methods {
		if team, ok := strings.CutPrefix(m, "process="); ok {
			if p, err = connect(team); err != nil {
				break
			}
			next := *caller
			next.Resident = caller.Loaded()
			caller = p.Caller(&next)
			continue
		}
		from := len(events.Events)
		text, e := caller.Call(ctx, m)
		var did []trace.Event
		for _, x := range events.Events[from:] {
			if slices.Contains(c.layers, x.Layer.String()) {
				did = append(did, x)
			}
		}
		n.row("calls[]", m)
		err = errors.Join(e, n.events("calls[].events[]", did, false))
		n.answers("calls[].", text)
		if err != nil {
			break
		}
	}
	return errors.Join(err, closer())
}

// callerProcess returns a function that connects a process of a team to the daemon, or to a machine of its own, and one
// that ends them.
func (c *deviceCommand) callerProcess(ctx context.Context, events *trace.Recording,
	qos broker.QoS) (connect func(team string) (*stack.Process, error), end func() error, err error) {
	var closers []func() error
	end = func() error {
		var errs []error
		for _, f := range slices.Backward(closers) {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	dial := func(id connection) (*stack.Process, error) { return id.dial(ctx, 0, 0) }
	if c.connect.socket == "" {
		s, err := stack.New(stack.Options{Trace: events.Tracer(), Strict: c.strict, Compile: c.brokerCompiler()})
		if err != nil {
			return nil, nil, err
		}
		closers = append(closers, s.Close)
		dial = func(of connection) (*stack.Process, error) {
			id := of.identity()
			id.PID += len(closers) // a process of its own
			return s.Connect(id, qos)
		}
	}
	return func(team string) (*stack.Process, error) {
		of := c.connect
		of.team = team
		p, err := dial(of)
		if err == nil {
			closers = append(closers, p.Close)
		}
		return p, err
	}, end, nil
}

// subjectOf reads what the methods are called with: the model's files for compileModel, the program for the others.
func (c *deviceCommand) subjectOf(ctx context.Context, flags *pflag.FlagSet, methods []string,
	caller *stack.Caller) error {
	program := false
	for _, m := range methods {
		program = program || m != "compileModel" && m != "purgeModels" && !strings.HasPrefix(m, "process=")
	}
	if c.file == "" {
		if program || slices.Contains(methods, "compileModel") {
			return usagef("the method needs a program; name a compiled pair or a model with --model")
		}
		return nil
	}
	if program {
		p, err := c.pair(ctx, c.file)
		if err != nil {
			return err
		}
		caller.Container = p.Container
	}
	if c.connect.base != "" {
		p, err := c.read(c.connect.base)
		if err != nil {
			return err
		}
		caller.Base = p.Container
	}
	if !slices.Contains(methods, "compileModel") {
		return nil
	}
	caller.Options = broker.CompilerOptions{}
	forms := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&compileFlags{}).form(forms)
	forms.VisitAll(func(f *pflag.Flag) {
		if g := flags.Lookup(f.Name); g != nil && g.Changed && g.Value.Type() != "stringArray" {
			caller.Options[f.Name] = g.Value.String()
		}
	})
	var err error
	caller.Files, err = modelFiles(c.file)
	return err
}

// modelFiles reads the files of a model: a file, or a folder with what is in it.
func modelFiles(path string) (broker.Files, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		b, err := os.ReadFile(path)
		return broker.Files{{Name: filepath.Base(path), Data: b}}, err
	}
	var files broker.Files
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(at)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(filepath.Clean(path)), at)
		files = append(files, broker.File{Name: filepath.ToSlash(name), Data: b})
		return err
	})
	return files, err
}

// brokerCompiler returns the compiler of a broker. The files of a request go to a folder of their own, which is removed
// afterwards; the options are the flags that determine the bytes of a pair, without --shape.
func (e *env) brokerCompiler() broker.Compiler {
	return func(ctx context.Context, r broker.CompileRequest) (container, descriptor []byte, err error) {
		own := *e // requests are compiled beside each other
		own.subject, own.quiet = nil, true
		c := &compileFlags{}
		forms := pflag.NewFlagSet("", pflag.ContinueOnError)
		c.form(forms)
		for _, k := range slices.Sorted(maps.Keys(r.Options)) {
			f := forms.Lookup(k)
			if f == nil || f.Value.Type() == "stringArray" {
				return nil, nil, fmt.Errorf("unknown option %q of the compiler", k)
			}
			if err := f.Value.Set(r.Options[k]); err != nil {
				return nil, nil, fmt.Errorf("option %s=%q of the compiler: %w", k, r.Options[k], err)
			}
		}
		dir, err := os.MkdirTemp("", "zinc-broker-")
		if err != nil {
			return nil, nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		for _, f := range r.Files {
			if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
				return nil, nil, fmt.Errorf("file name %q is not inside the model's folder", f.Name)
			}
			at := filepath.Join(dir, filepath.FromSlash(f.Name))
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return nil, nil, err
			}
			if err := os.WriteFile(at, f.Data, 0o600); err != nil {
				return nil, nil, err
			}
		}
		top, _, _ := strings.Cut(r.Files[0].Name, "/")
		p, err := c.compilePair(ctx, &own, filepath.Join(dir, top), nil)
		return p.Container, p.Descriptor, err
	}
}
