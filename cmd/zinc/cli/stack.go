package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// stackCommand is the state of `zinc stack`.
type stackCommand struct {
	pairCommand
	random uint64
	all    bool
	bytes  int
	layers []string
}

func newStack(e *env) *cobra.Command {
	c := &stackCommand{pairCommand: pairCommand{env: e}}
	cmd := &cobra.Command{
		Use:   "stack FILE.hwx|MODEL",
		Short: "Show one dispatch step by step through every layer",
		Long: `Stack runs a compiled pair, or a model that it compiles in memory first, once on random
inputs, and prints what every layer did on the way down and back: one line per step with
its number, the virtual time, the layer, the name of the call, command or state, and
below it the bytes that crossed a boundary there.

The program is loaded and has run once before the printed part; --all prints from the
power-on of the device. The layers are ` + layerNames() + `.`,
		Example: `  zinc stack digits.mlmodelc
  zinc stack digits.hwx --all --layers driver,firmware --bytes 0
  zinc stack digits.hwx --inject exception@task --all`,
		GroupID: groupRun,
		Args:    operands(1, 1, "one FILE.hwx or MODEL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.show(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.BoolVar(&c.all, "all", false, "print from the power-on of the device to its power-off")
	f.IntVar(&c.bytes, "bytes", 128, "maximum bytes to print at each boundary")
	f.StringSliceVar(&c.layers, "layers", nil, "`LAYERS` to print, comma-separated")
	f.BoolVar(&c.json, "json", false, "print a Chrome trace instead of text")
	f.Uint64Var(&c.random, "random", 1, "fill the inputs with random values from this `SEED`")
	f.Uint64Var(&c.random, "seed", 1, "another name of --random")
	c.register(f)
	return cmd
}

// layerList lists the layers as a function gives each.
func layerList(text func(l trace.Layer) string) (out []string) {
	for l := range trace.Layer(trace.NumLayers) {
		out = append(out, text(l))
	}
	return out
}

func layerNames() string {
	return strings.Join(layerList(func(l trace.Layer) string { return l.String() + " (" + l.Doc() + ")" }), ", ")
}

// check reports values that are wrong for every file.
func (c *stackCommand) check() error {
	if c.bytes < 0 {
		return usagef("--bytes=%d: must be 0 or more", c.bytes)
	}
	if err := checkLayers(c.layers); err != nil {
		return err
	}
	return c.pairCommand.check()
}

// checkLayers reports an unknown layer of --layers.
func checkLayers(names []string) error {
	have := layerList(trace.Layer.String)
	for _, name := range names {
		if !slices.Contains(have, name) {
			return usagef("--layers=%s: unknown layer; layers are %s", name, strings.Join(have, ", "))
		}
	}
	return nil
}

func (c *stackCommand) show(ctx context.Context, path string) error {
	if err := c.check(); err != nil {
		return err
	}
	compiled, err := c.isPair(path)
	if err != nil {
		return err
	}
	load, err := c.loading(path, compiled)
	if err != nil {
		return err
	}
	events := &trace.Recording{MaxData: max(c.bytes, 1)}
	r, err := c.build(ctx, load, numerics.ANE, c.workers, events)
	if err != nil {
		return loadError(path, compiled, err)
	}
	if c.function != "" {
		if err := r.choose(c.function); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", path, err), r.close())
		}
	}
	inputs := map[string]interp.Tensor{}
	var budget verify.Budget
	for _, p := range portsOf(r.model.Machine()).inputs {
		t, err := budget.Random(p.fill, p.name, c.random)
		if err != nil {
			return errors.Join(err, r.close())
		}
		inputs[p.name] = t
	}
	from := 0
	_, err = r.model.Run(ctx, inputs)
	if err == nil && !c.all {
		from = len(events.Events)
		_, err = r.model.Run(ctx, inputs)
	}
	to := len(events.Events)
	if e := r.close(); err == nil && c.inject == "" {
		err = e
	}
	if c.all {
		to = len(events.Events)
	}
	err = c.runFault(ctx, path, compiled, nil, err)
	err = cmp.Or(err, c.print(r, events.Events[from:to]))
	return err
}

func (c *stackCommand) print(r *simulation, events []trace.Event) error {
	if c.layers != nil {
		events = slices.DeleteFunc(slices.Clone(events), func(e trace.Event) bool {
			return !slices.Contains(c.layers, e.Layer.String())
		})
	}
	if c.json {
		return r.record.Write(c.out, events)
	}
	return trace.WriteText(c.out, events, c.bytes > 0)
}
