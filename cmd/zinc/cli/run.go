package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/transform/split"
)

// runCommand is the state of `zinc run`.
type runCommand struct {
	pairCommand
	arrayFlags
	engineFlags
	traceFlags
	connect connection
	shown   *progress // of the tasks or operations of all runs
}

// arrayFlags name the files of a run's arrays, and what the other inputs are.
type arrayFlags struct {
	inputs, outputs []string
	states, after   []string // files of the states before and after the run
	keep            []string // OUTPUT=INPUT
	steps           int
	random          uint64
	fill            bool // --random or --seed was set

	reads, writes, restores, saves []named // inputs, outputs, states and after, as they were parsed
	keeps                          []named // keep, with the inputs in file
}

func (a *arrayFlags) register(f *pflag.FlagSet) {
	f.StringArrayVarP(&a.inputs, "input", "i", nil, "`NAME=FILE.npy`: read input NAME from a file (repeatable)")
	f.StringArrayVarP(&a.outputs, "output", "o", nil, "`NAME=FILE.npy`: write output NAME to a file (repeatable)")
	f.StringArrayVar(&a.states, "state", nil, "`NAME=FILE.npy`: read state NAME before the run (repeatable)")
	f.StringArrayVar(&a.after, "state-out", nil, "`NAME=FILE.npy`: write state NAME after the run (repeatable)")
	f.StringArrayVar(&a.keep, "keep", nil, "`OUTPUT=INPUT`: bind OUTPUT and INPUT to one buffer, so that a run reads "+
		"what the run before has written: INPUT is then a state (repeatable)")
	f.IntVar(&a.steps, "steps", 1, "number of runs, one after another")
	f.Uint64Var(&a.random, "random", 0, "fill inputs without --input with random values from this `SEED` (without "+
		"SEED: 1)")
	f.Uint64Var(&a.random, "seed", 0, "another name of --random")
}

// check reads the names of the files. json says that the command prints JSON.
func (a *arrayFlags) check(json bool) (err error) {
	for _, x := range []struct {
		flag   string
		values []string
		to     *[]named
	}{{"--input", a.inputs, &a.reads}, {"--output", a.outputs, &a.writes}, {"--state", a.states, &a.restores},
		{"--state-out", a.after, &a.saves}, {"--keep", a.keep, &a.keeps}} {
		if *x.to, err = pairs(x.flag, x.values); err != nil {
			return err
		}
	}
	for _, o := range a.writes {
		if slices.ContainsFunc(a.saves, func(s named) bool { return s.file == o.file }) {
			return usagef("--output and --state-out both write %s", o.file)
		}
	}
	if n := toStdout(a.writes) + toStdout(a.saves); n > 1 || n == 1 && json {
		return usagef("only one array can be written to standard output, and not with --json")
	}
	if a.steps < 1 {
		return usagef("--steps=%d: must be 1 or more", a.steps)
	}
	return nil
}

// engineFlags say what runs the tasks, and with which arithmetic.
type engineFlags struct{ engine, numerics string }

func (e *engineFlags) register(f *pflag.FlagSet) {
	f.Var(newChoice(&e.engine, "sim", "direct", "interp"), "engine", "sim, the simulator of the "+
		"whole stack; direct, the engine without the layers above it; or interp, the "+
		"reference interpreter (models only)")
	f.Var(newArithmetic(&e.numerics), "numerics", "arithmetic on the engine: ane, as the target's "+
		"engine computes; ane-wide, as h13's does, with sums of products in fp32 (faster); ane-fixed, as later "+
		"engines do (from h16 on); or ieee, fp16 storage with fp32 arithmetic")
}

// traceFlags are the files of traces.
type traceFlags struct{ trace, replay string }

func (t *traceFlags) register(f *pflag.FlagSet) {
	f.StringVar(&t.trace, "trace", "", "write a Chrome trace of every layer to `FILE`, for Perfetto and --replay")
	f.StringVar(&t.replay, "replay", "",
		"repeat the runs of a trace `FILE`, with the same inputs and faults, and compare the traces")
}

func newRun(e *env) *cobra.Command {
	c := &runCommand{pairCommand: pairCommand{env: e}}
	cmd := &cobra.Command{
		Use:   "run FILE.hwx|MODEL --input NAME=FILE.npy ... --output NAME=FILE.npy ...",
		Short: "Run a compiled pair, a container or a model on arrays",
		Long: `Run executes a compiled pair (FILE.hwx with FILE.e5 beside it), or a model that it
compiles in memory first, on the simulator: through runtime, broker, driver, address
translation, command rings and firmware down to the engine. With --engine=direct the
engine runs the tasks without the layers above it; with --engine=interp the reference
interpreter runs the model instead. A container of one program also runs without a
descriptor: its inputs and outputs are the tensors that it binds, in fp16 and shape
n, c, h, w, under the names of their ports.

Inputs are npy files of the input's element type and shape. Outputs go to npy files;
outputs without --output are summarised on standard output. The name - is standard
input, of FILE or of one input, and standard output, of one output.

A state is zero before the run unless --state reads it; --state-out writes its value
after the run. The same file for both continues a chain of runs. --steps runs several
times at once and prints the outputs of the last. With --random each of them has its own
inputs. --keep makes a state of an input that the model has as an output too. States stay
on the device: from the second step on, the firmware keeps the request, and a step is a
trigger of it, which --timing compares with a call. --no-chaining sends calls.

Several files run one after the other, as zinc split writes them: an output of one is
the input of the same name of those after it.

With --connect the pair runs on the machine of a daemon (zinc serve), beside the other
processes that use it.`,
		Example: `  zinc run digits.hwx --input image=7.npy --output probs=scores.npy
  zinc run digits.mlmodelc --random
  zinc run parts/big-1.mlmodelc parts/big-2.mlmodelc --random
  zinc run digits.mlmodelc --engine interp --input image=7.npy
  zinc run digits.hwx --random 1 --timing
  zinc run decoder.hwx --keep cache_out=cache_in --random 1 --steps 64 --timing
  zinc run digits.hwx --random 1 --trace t.json --inject drop@note:count=1
  zinc run digits.hwx --replay t.json
  zinc run digits.hwx --random 1 --connect /run/user/501/zinc.sock --qos user-initiated`,
		GroupID: groupRun,
		Args:    operands(1, split.MaxParts, "one FILE.hwx or MODEL, or the models of a pipeline"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.fill = cmd.Flags().Changed("random") || cmd.Flags().Changed("seed")
			return c.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	c.arrayFlags.register(f)
	c.engineFlags.register(f)
	f.BoolVar(&c.json, "json", false, "print JSON")
	c.traceFlags.register(f)
	c.registerRun(f)
	c.connect.register(f, "run on the machine that zinc serve has on this `SOCKET`")
	c.connect.registerLoad(f)
	c.pairCommand.register(f)
	exclusive(cmd, "resident", "base")
	exclusive(cmd, "overlap", "trace", "replay", "connect")
	exclusive(cmd, "connect", "trace", "replay", "timing", "timeout", "inject", "strict-firmware", "no-chaining")
	exclusive(cmd, "replay", "trace", "timing", "timeout", "inject", "input", "state", "output", "state-out", "random",
		"seed", "steps", "keep", "no-chaining")
	return cmd
}

func (c *runCommand) run(ctx context.Context, paths []string) (err error) {
	path := paths[0]
	if err := c.check(); err != nil {
		return err
	}
	if c.replay != "" && len(paths) == 1 {
		return c.replayTrace(ctx, path)
	}
	mode, err := numerics.ParseMode(c.numerics)
	if err != nil {
		return &usageError{err}
	}
	if _, err := lookupTarget(c.target); err != nil {
		return usagef("--target: %w", err)
	}
	c.shown = c.newProgress(c.progress)
	defer c.shown.end()
	var x *executor
	if len(paths) > 1 {
		x, err = c.pipeline(ctx, paths, mode)
	} else if x, err = c.executor(ctx, path, mode); err == nil {
		x, err = c.fitted(ctx, path, mode, x, c.reads)
	}
	if err != nil {
		return err
	}
	for _, k := range c.keeps {
		if err := x.keep(k.name, k.file); err != nil {
			return errors.Join(err, x.close())
		}
	}
	closed := false
	if c.inSession.holds() {
		return c.inSession.hold(c, x, mode)
	}
	defer func() {
		if !closed {
			err = errors.Join(err, x.close())
		}
	}()
	for _, o := range c.writes {
		if !slices.ContainsFunc(x.outputs, func(p port) bool { return p.name == o.name }) {
			return fmt.Errorf("%s: unknown output %q; outputs: %s", path, o.name, ports(x.outputs))
		}
	}
	for _, s := range c.saves {
		if !slices.ContainsFunc(x.states, func(p port) bool { return p.name == s.name }) {
			return fmt.Errorf("%s: unknown state %q; states: %s", path, s.name, ports(x.states))
		}
	}
	given, err := c.tensors(path, "input", x.inputs, c.reads)
	if err != nil {
		return err
	}
	held, err := c.tensors(path, "state", x.states, c.restores)
	if err != nil {
		return err
	}
	for _, s := range c.restores {
		if err := x.setState(s.name, held[s.name]); err != nil {
			return err
		}
	}
	var got map[string]interp.Tensor
	for step := range c.steps {
		tensors := maps.Clone(given)
		if err := c.complete(path, x.inputs, tensors, uint64(step)<<32); err != nil {
			return err
		}
		if got, err = x.run(ctx, tensors, mode, c.workers); err != nil {
			return err
		}
	}
	if err := x.read(got); err != nil {
		return err
	}
	for _, s := range c.saves {
		if held[s.name], err = x.state(s.name); err != nil {
			return err
		}
	}
	c.shown.end()
	if c.timing {
		x.timing(c.out)
	}
	closed = true
	if err := x.close(); err != nil {
		return err
	}
	return c.write(ctx, x.outputs, append(arrays("output", c.writes, got), arrays("state", c.saves, held)...), got)
}

// fitted returns the executor of a model in the shapes of the input files, if its inputs have ranges and no --shape is
// set. Otherwise it returns x.
func (c *runCommand) fitted(ctx context.Context, path string, mode numerics.Mode, x *executor,
	files []named) (*executor, error) {
	if compiled, err := c.isPair(path); err != nil || compiled || len(c.shapes) > 0 {
		return x, nil
	}
	shapes := map[string][]int64{}
	fits := true
	for _, f := range files {
		i := slices.IndexFunc(x.inputs, func(p port) bool { return p.name == f.name })
		b, err := c.stdin.Read(f.file)
		if i < 0 || err != nil {
			return x, nil // reading the inputs reports it
		}
		a, err := npy.Decode(b)
		if err != nil {
			return x, nil
		}
		shapes[f.name] = a.Shape
		t := x.inputs[i].typ
		fits = fits && ir.TensorOf(t.DType, a.Shape...).Fits(t)
	}
	if fits {
		return x, nil
	}
	m, err := c.open(c.silent(), path)
	if err != nil {
		return x, nil
	}
	f, err := m.Program.Entry(c.function)
	if err == nil {
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			if f.Flex.Ranges[name] != nil && len(shapes[name]) > 0 {
				c.shapes = append(c.shapes, shapeValue(name, shapes[name]))
			}
		}
	}
	m.Close()
	if len(c.shapes) == 0 {
		return x, nil
	}
	if err := x.close(); err != nil {
		return nil, err
	}
	return c.executor(ctx, path, mode)
}

// advance shows that one more of the tasks or operations of a run is done; each run has total. Inputs may select a
// configuration of the function that has more.
func (c *runCommand) advance(total int) { c.shown.count("run", c.steps*total) }

// check returns an error for values and combinations that are wrong for every file.
func (c *runCommand) check() error {
	below := c.inject != "" || c.strict || c.trace != "" || c.replay != "" || c.timing || c.limit != 0 || c.calls
	switch {
	case below && c.engine != "sim":
		return usagef("--engine=%s simulates no layers: --trace, --replay, --timing, --timeout, --inject, "+
			"--no-chaining and --strict-firmware require --engine=sim", c.engine)
	case (c.connect.socket != "" || c.overlap) && c.engine != "sim":
		return usagef("--engine=%s cannot be combined with --connect or --overlap", c.engine)
	}
	for _, check := range []func() error{c.pairCommand.check, c.connect.check,
		func() error { return c.arrayFlags.check(c.json) }} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// named is one NAME=FILE from the command line.
type named struct{ name, file string }

// pairs splits the values of a flag at their first =, which MIL names cannot contain.
func pairs(flag string, values []string) ([]named, error) {
	var out []named
	for _, v := range values {
		name, file, ok := strings.Cut(v, "=")
		if !ok || name == "" || file == "" {
			want := "NAME=FILE.npy"
			if flag == "--keep" {
				want = "OUTPUT=INPUT"
			}
			return nil, usagef("%s %q: want %s", flag, v, want)
		}
		if slices.ContainsFunc(out, func(n named) bool { return n.name == name }) {
			return nil, usagef("%s: %q is set twice", flag, name)
		}
		out = append(out, named{name, file})
	}
	return out, nil
}

// toStdout counts the files that are standard output.
func toStdout(files []named) int {
	n := 0
	for _, f := range files {
		if f.file == stdoutName {
			n++
		}
	}
	return n
}

// ports lists the ports in a message.
func ports(ps []port) string {
	var s []string
	for _, p := range ps {
		s = append(s, p.name+" "+p.typ.String())
	}
	if s == nil {
		return "none"
	}
	return strings.Join(s, ", ")
}

// tensors reads the files of inputs or states.
func (e *env) tensors(path, what string, want []port, files []named) (map[string]interp.Tensor, error) {
	tensors := map[string]interp.Tensor{}
	for _, f := range files {
		i := slices.IndexFunc(want, func(p port) bool { return p.name == f.name })
		if i < 0 {
			return nil, fmt.Errorf("%s: unknown %s %q; %ss: %s", path, what, f.name, what, ports(want))
		}
		b, err := e.stdin.Read(f.file)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", what, f.name, err)
		}
		a, err := npy.Decode(b)
		if err == nil {
			tensors[f.name], err = values.FromArray(a, want[i].typ)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %s: %w", what, f.name, f.file, err)
		}
	}
	return tensors, nil
}

// complete fills the missing inputs with random values that depend on the seed and more.
func (c *runCommand) complete(path string, want []port, tensors map[string]interp.Tensor, more uint64) error {
	var missing []port
	var budget verify.Budget
	for _, p := range want {
		if _, ok := tensors[p.name]; ok {
			continue
		}
		if !c.fill {
			missing = append(missing, p)
			continue
		}
		if p.fill.Kind == ir.Tensor && !p.fill.Static() {
			return c.shapeless(path, &p)
		}
		t, err := budget.Random(p.fill, p.name, c.random+more)
		if err != nil {
			return err
		}
		tensors[p.name] = t
	}
	if missing != nil {
		return fmt.Errorf("%s: missing input: %s; set each with --input NAME=FILE.npy, or fill them with "+
			"--random SEED", path, ports(missing))
	}
	return nil
}

// shapeless returns the error for an input without values and without a default shape.
func (c *runCommand) shapeless(path string, p *port) error {
	set := fmt.Sprintf("values with --input %s=FILE.npy", p.name)
	if compiled, err := c.isPair(path); err == nil && !compiled {
		set = shapeFlag(p.name, p.typ) + ", or " + set
	}
	return fmt.Errorf("%s: input %s of type %s has no default shape; set %s", path, p.name, p.typ, set)
}

// array is a value to be written to a file.
type array struct {
	named
	what  string // output or state
	value interp.Tensor
	given bool
}

func arrays(what string, files []named, from map[string]interp.Tensor) []array {
	var out []array
	for _, f := range files {
		t, ok := from[f.name]
		out = append(out, array{named: f, what: what, value: t, given: ok})
	}
	return out
}

// write writes the named outputs and states, all or none, and prints a summary of the outputs without a file.
func (c *runCommand) write(ctx context.Context, have []port, files []array, got map[string]interp.Tensor) error {
	var out []atomicfile.File
	var alone []byte // an array for standard output
	for _, f := range files {
		if !f.given {
			return &internalError{err: fmt.Errorf("the run returned no %s %q", f.what, f.name)}
		}
		a, err := values.ToArray(f.value)
		if err != nil {
			return fmt.Errorf("%s %s: %w", f.what, f.name, err)
		}
		b, err := npy.Encode(a)
		if err != nil {
			return fmt.Errorf("%s %s: %w", f.what, f.name, err)
		}
		if f.file == stdoutName {
			alone = b
			continue
		}
		out = append(out, atomicfile.Bytes(f.file, b))
	}
	if err := c.writeFiles(ctx, out...); err != nil {
		return err
	}
	if alone != nil {
		_, err := c.out.Write(alone) // instead of the summaries
		return err
	}
	var summaries []runOutput
	for _, p := range have {
		i := slices.IndexFunc(files, func(f array) bool { return f.what == "output" && f.name == p.name })
		if i >= 0 && !c.json {
			continue
		}
		t, ok := got[p.name]
		if !ok {
			return &internalError{err: fmt.Errorf("the run returned no output %q", p.name)}
		}
		if !c.json {
			if err := dump.Tensor(c.out, p.name, t); err != nil {
				return err
			}
			continue
		}
		x := runOutput{Name: p.name, Type: t.Type.String(), Statistics: dump.Summarize(t)}
		if i >= 0 {
			x.File = files[i].file
		}
		summaries = append(summaries, x)
	}
	if c.json {
		return jsonform.Document(c.out, runJSON{Outputs: summaries})
	}
	return nil
}

// runJSON is what zinc run --json prints.
type runJSON struct {
	Outputs []runOutput `json:"outputs"` // outputs, in the order of the function
}

// runOutput is an output of a run.
type runOutput struct {
	Name string `json:"name"`           // name of the output
	Type string `json:"type"`           // type of the output
	File string `json:"file,omitempty"` // that it was written to
	dump.Statistics
}

// isPair reports whether path is a file of a pair instead of a model.
func (e *env) isPair(path string) (bool, error) {
	if !e.stdin.IsStdin(path) {
		info, err := os.Stat(path)
		if err != nil {
			return false, err
		}
		if info.IsDir() || strings.EqualFold(filepath.Ext(path), ".mlmodel") {
			return false, nil
		}
	}
	b, unmap, err := dump.Whole(path, e.stdin)
	if err != nil {
		return false, err
	}
	defer unmap() // only read from
	k := dump.KindOf(b)
	return k == dump.KindContainer || k == dump.KindDescriptor || k == dump.KindOther, nil
}
