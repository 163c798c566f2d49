package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/compare"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/provenance"
	"github.com/zinc-compiler/zinc/target"
)

// statusDifferent is the exit status of `zinc diff` when the sides differ, and
// statusTrouble when they could not be compared, as diff(1) has them.
const (
	statusTrouble = 2
)

// troubleError is an error of a command whose status 1 means something else.
type troubleError struct{ err error }

func (e *troubleError) Error() string { return e.err.Error() }
func (e *troubleError) Unwrap() error { return e.err }

// diffCommand is the state of `zinc diff`.
type diffCommand struct {
	*env
	compileFlags
	targets  [2]string
	flags    [2]string
	levels   []string
	outputs  bool
	seed     uint64
	semantic bool
	bytes    bool
	json     bool
	quiet    bool
	most     int
}

func newDiff(e *env) *cobra.Command {
	c := &diffCommand{env: e}
	var levels strings.Builder
	for _, l := range compare.Levels {
		fmt.Fprintf(&levels, "  %-10s %s\n", l.Level, l.Doc)
	}
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Say in what two models, compilations or pairs differ, and what each difference does",
		Long: `Diff compares A and B: models in any form that zinc opens, pairs (FILE.hwx with the
FILE.e5 beside it) or containers alone. With A alone, or with A@TARGET, --target-a,
--flags-a and their like, one model is compared with itself under other settings.

Levels:

` + levels.String() + `
and with --outputs both sides are run on the same seeded inputs: the first task that
gives another value, and the outputs.

Parts are aligned by the statements and rules that they came from, of pairs by the
debug database beside the container, without one by structure; never by offset or
index. With --semantic, the default, a change of a setting, a statement or a constant
is told with what it does at the levels below; what nothing explains stands by itself.
With --bytes the byte ranges of the pairs that differ are listed, each with its place
in both files and its owner.

Exit status 0 when there is no difference, 1 when there is, 2 when the sides could not
be compared.`,
		Example: `  zinc diff old.mlmodelc new.mlmodelc
  zinc diff model.mlmodelc --target-b h14
  zinc diff model.mlmodelc@h13 model.mlmodelc@h14 --level limits,placement
  zinc diff model.mlmodelc --flags-b '--precision fp16' --outputs
  zinc diff old.hwx new.hwx --bytes`,
		GroupID: groupInspect,
		Args:    operands(1, 2, "A"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.run(cmd.Context(), args)
			var shown *shownError
			if err == nil || errors.As(err, &shown) {
				return err
			}
			return &troubleError{err}
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.targets[0], "target-a", "", "`TARGET` of A (default that of --target)")
	f.StringVar(&c.targets[1], "target-b", "", "`TARGET` of B (default that of --target)")
	f.StringVar(&c.flags[0], "flags-a", "", "`FLAGS` that A is compiled with, parted by spaces")
	f.StringVar(&c.flags[1], "flags-b", "", "`FLAGS` that B is compiled with, parted by spaces")
	f.StringSliceVar(&c.levels, "level", nil, "compare at this level only (repeatable): "+strings.Join(compare.LevelNames(), ", "))
	f.BoolVar(&c.outputs, "outputs", false, "run both sides too and compare what they give")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the inputs of --outputs")
	f.BoolVar(&c.semantic, "semantic", false, "tell what changed and what it does (the default)")
	f.BoolVar(&c.bytes, "bytes", false, "list the byte ranges of the pairs that differ, with their owners, instead")
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print nothing, give the exit status alone")
	f.IntVar(&c.most, "max-lines", 12, "lines of details that a change gets, and effects, 0 for all; JSON has all")
	c.model(f)
	return cmd
}

func (c *diffCommand) check() error {
	if c.bytes && (c.semantic || c.outputs || len(c.levels) > 0) {
		return usagef("--bytes with --semantic, --outputs or --level: it compares the bytes of the pairs and nothing else")
	}
	if c.quiet && c.json {
		return usagef("--quiet and --json: one of them")
	}
	if c.most < 0 {
		return usagef("--max-lines=%d: must be 0 or more", c.most)
	}
	for _, l := range c.levels {
		if !slices.Contains(compare.LevelNames(), l) {
			return usagef("--level=%s: no such level; levels are %s", l, strings.Join(compare.LevelNames(), ", "))
		}
	}
	return c.compileFlags.check()
}

// operand parts a target from the path that it stands behind.
func operand(arg string) (path, name string) {
	i := strings.LastIndexByte(arg, '@')
	if i <= 0 || !slices.Contains(target.Names(), arg[i+1:]) {
		return arg, ""
	}
	if _, err := os.Lstat(arg); err == nil {
		return arg, ""
	}
	return arg[:i], arg[i+1:]
}

// settings returns the flags of one side: those of both, then its own.
func (c *diffCommand) settings(side int, name string) (*compileFlags, error) {
	flag := "--flags-" + "ab"[side:side+1]
	var out compileFlags
	f := pflag.NewFlagSet(flag, pflag.ContinueOnError)
	f.Usage = func() {}
	out.model(f)
	out = c.compileFlags // the flags point into out; what they do not set is that of both sides
	if err := f.Parse(strings.Fields(c.flags[side])); err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	if f.NArg() > 0 {
		return nil, usagef("%s: %q is no flag", flag, f.Arg(0))
	}
	if c.targets[side] != "" {
		if name != "" && name != c.targets[side] {
			return nil, usagef("--target-%s=%s: the operand says @%s", "ab"[side:side+1], c.targets[side], name)
		}
		name = c.targets[side]
	}
	if name != "" {
		out.target = name
	}
	return &out, out.check()
}

func (c *diffCommand) run(ctx context.Context, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(args) == 1 {
		path, name := operand(args[0])
		if args = []string{args[0], path}; name == "" && c.targets == [2]string{} && c.flags == [2]string{} {
			return usagef("B is missing; with one model, --target-b or --flags-b say what it is compared with")
		}
	}
	var sides [2]*compare.Side
	for i, arg := range args {
		s, err := c.side(ctx, i, arg)
		if err != nil {
			return err
		}
		defer s.Close()
		sides[i] = s
	}
	if c.bytes {
		return c.ranges(sides)
	}
	p := c.newProgress(c.progress)
	defer p.end()
	o := compare.Options{Outputs: c.outputs, Seed: c.seed, Workers: c.workers, Progress: p.step}
	for _, l := range c.levels {
		o.Levels = append(o.Levels, compare.Level(l))
	}
	r, err := compare.Compare(ctx, sides[0], sides[1], o)
	p.end()
	if err != nil {
		return err
	}
	switch {
	case c.quiet:
	case c.json:
		err = jsonform.Write(c.out, r)
	default:
		err = r.Text(c.out, compare.TextOptions{Most: c.most})
	}
	return different(err, r.Same)
}

func (c *diffCommand) ranges(sides [2]*compare.Side) error {
	rs, err := compare.Bytes(sides[0], sides[1])
	switch {
	case err != nil || c.quiet:
	case c.json:
		err = jsonform.Write(c.out, rs)
	default:
		err = compare.RangesText(c.out, rs)
	}
	return different(err, len(rs) == 0)
}

// different returns the error of an exit status 1, unless the sides are the same.
func different(err error, same bool) error {
	if err == nil && !same {
		return &shownError{errors.New("the sides differ")}
	}
	return err
}

// side opens one operand.
func (c *diffCommand) side(ctx context.Context, i int, arg string) (*compare.Side, error) {
	path, name := operand(arg)
	flags, err := c.settings(i, name)
	if err != nil {
		return nil, err
	}
	pair, err := isPair(path)
	if err != nil {
		return nil, err
	}
	if pair {
		if name != "" || c.targets[i] != "" || c.flags[i] != "" {
			return nil, usagef("%s is compiled already; targets and flags are for models", path)
		}
		return c.pairSide(path)
	}
	o, err := flags.options(c.env, path, &progress{w: c.err})
	if err != nil {
		return nil, err
	}
	o.Progress = nil
	s, err := compare.OpenModel(ctx, path, frontend.Options{WeightsDir: flags.weights}, o)
	if err != nil {
		return nil, fmt.Errorf("side %s: %w", "AB"[i:i+1], err)
	}
	return s, nil
}

// pairSide opens a pair, or a container without a descriptor beside it.
func (c *diffCommand) pairSide(path string) (*compare.Side, error) {
	container, descriptor, err := (&runCommand{env: c.env}).read(path)
	if err != nil {
		return nil, err
	}
	at, _ := zinc.PairPaths(path)
	db, err := provenance.Open(debugBeside(at))
	if err == nil {
		s, err := compare.OpenPair(path, container, descriptor, db)
		if err == nil {
			return s, nil
		}
		fmt.Fprintf(c.err, "zinc: %s; it is left aside\n", err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(c.err, "zinc: %s: %s; it is left aside\n", debugBeside(at), err)
	}
	return compare.OpenPair(path, container, descriptor, nil)
}
