package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/target"
)

// Exit statuses of `zinc diff`, the same as for diff(1): the sides differ, or could not be compared.
const (
	statusDiffer  = 1
	statusTrouble = 2
)

// diffCommand is the state of `zinc diff`.
type diffCommand struct {
	*env
	compileFlags
	targets  [2]string
	flags    [2]string
	zincs    [2]string // executables that compile, "" for this one
	opened   [2]*toolchain.Executable
	labels   [2]string // versions, "" where this zinc compiles both
	passes   bool      // compare the programs after the passes
	levels   []string
	outputs  bool
	seed     uint64
	semantic bool
	bytes    bool
	json     bool
	markdown bool
	names    [2]string // printed instead of the paths
	quiet    bool
	most     int
}

// diffStatus says what the exit statuses mean, the same as for diff(1).
const diffStatus = "Exit status 0 when there is no difference, 1 when there is, 2 when the sides could not be compared."

func newDiff(e *env) *cobra.Command {
	c := &diffCommand{env: e}
	var levels strings.Builder
	for _, l := range compare.Levels {
		fmt.Fprintf(&levels, "  %-10s %s\n", l.Level, l.Doc)
	}
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Show how two models, compilations or pairs differ",
		Long: `Diff compares A and B: models in any format that zinc opens, pairs (FILE.hwx with
FILE.e5 beside it) or containers alone. With A alone, or with A@TARGET, --target-a,
--flags-a, --zinc-a and the like, one model is compared with itself under other
settings. With --zinc-a or --zinc-b another zinc executable compiles that side; this is
how two versions of the compiler are compared. It runs in a separate folder, for at most
five minutes.

Levels:

` + levels.String() + `
Level passes is compared if it is named, if one model is compared with itself, and if
another executable compiles, because it takes longer.

With --outputs both sides run on the same seeded inputs, and zinc compares the first
task with a different result, and the outputs.

Parts are aligned by the statements and rules that they came from: for pairs according
to the debug database beside the container, or else by structure; never by offset or
index. With --semantic, the default, a change of a setting, a statement or a constant is
printed with its effects at lower levels; unexplained differences are printed by
themselves. With --bytes the byte ranges of the pairs that differ are listed, each with
its place in both files and its owner.

` + diffStatus,
		Annotations: map[string]string{ownStatus: diffStatus},
		Example: `  zinc diff old.mlmodelc new.mlmodelc
  zinc diff model.mlmodelc --target-b h14
  zinc diff model.mlmodelc@h13 model.mlmodelc@h14 --level limits,placement
  zinc diff model.mlmodelc --flags-b '--precision fp16' --outputs
  zinc diff model.mlmodelc --zinc-a ./zinc-before
  zinc diff model.mlmodelc --flags-b '--precision fp16' --level passes
  zinc diff base/model.mlmodelc model.mlmodelc --markdown --label-a base >>comment.md
  zinc diff old.hwx new.hwx --bytes`,
		GroupID: groupChange,
		Args:    operands(1, 2, "A"),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := c.run(cmd.Context(), args)
			if err == nil || shown(err) || statusOf(err) != statusInput {
				return err
			}
			return &exitError{err: err, status: statusTrouble}
		},
	}
	f := cmd.Flags()
	f.Var(targetFlag{&c.targets[0]}, "target-a", "`TARGET` of A (default that of --target)")
	f.Var(targetFlag{&c.targets[1]}, "target-b", "`TARGET` of B (default that of --target)")
	f.StringVar(&c.flags[0], "flags-a", "", "`FLAGS` to compile A with, quoted as in a shell")
	f.StringVar(&c.flags[1], "flags-b", "", "`FLAGS` to compile B with, quoted as in a shell")
	f.StringVar(&c.zincs[0], "zinc-a", "", "`PATH` of the zinc executable that compiles A (default this one)")
	f.StringVar(&c.zincs[1], "zinc-b", "", "`PATH` of the zinc executable that compiles B (default this one)")
	f.StringSliceVar(&c.levels, "level", nil, "compare at this level only (repeatable): "+
		strings.Join(compare.LevelNames(), ", "))
	f.BoolVar(&c.outputs, "outputs", false, "also run both sides and compare their outputs")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the inputs of --outputs")
	f.BoolVar(&c.semantic, "semantic", false, "print changes and their effects (the default)")
	f.BoolVar(&c.bytes, "bytes", false, "list the byte ranges of the pairs that differ, with their owners, instead")
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.markdown, "markdown", false, "print Markdown for a comment in CI")
	f.StringVar(&c.names[0], "label-a", "", "`NAME` of A in the output (default its path)")
	f.StringVar(&c.names[1], "label-b", "", "`NAME` of B in the output (default its path)")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print nothing, only set the exit status")
	f.IntVar(&c.most, "max-lines", 12, "maximum lines of details, and effects, per change, 0 for all; JSON has all")
	c.model(f)
	exclusive(cmd, "bytes", "semantic", "outputs", "markdown", "level")
	exclusive(cmd, "quiet", "json", "markdown")
	exclusive(cmd, "json", "markdown")
	return cmd
}

func (c *diffCommand) check() error {
	if c.most < 0 {
		return usagef("--max-lines=%d: must be 0 or more", c.most)
	}
	for _, l := range c.levels {
		if !slices.Contains(compare.LevelNames(), l) {
			return usagef("--level=%s: unknown level; levels are %s", l, strings.Join(compare.LevelNames(), ", "))
		}
	}
	return c.compileFlags.check()
}

// operand separates a target from the path before it.
func operand(arg string) (path, name string) {
	i := strings.LastIndexByte(arg, '@')
	if i <= 0 {
		return arg, ""
	}
	t, err := target.Lookup(arg[i+1:])
	if err != nil {
		return arg, ""
	}
	if _, err := os.Lstat(arg); err == nil {
		return arg, ""
	}
	return arg[:i], t.Name
}

// sideFlags are the flags of one side.
type sideFlags struct {
	compileFlags
	extra []string // unknown to this zinc, for the other executable
}

// known separates the words of --flags-a from those that this zinc does not know, each with the next word if that may
// be its value.
func known(f *pflag.FlagSet, words []string) (own, extra []string) {
	for i := 0; i < len(words); i++ {
		name, isLong := strings.CutPrefix(words[i], "--")
		name, _, valued := strings.Cut(name, "=")
		if !isLong || name == "" || f.Lookup(name) != nil {
			own = append(own, words[i])
			continue
		}
		extra = append(extra, words[i])
		if !valued && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			i++
			extra = append(extra, words[i])
		}
	}
	return own, extra
}

// settings returns the flags of one side: the common ones, overridden by its own.
func (c *diffCommand) settings(side int, name string) (*sideFlags, error) {
	letter := "ab"[side : side+1]
	flag := "--flags-" + letter
	var out sideFlags
	f := pflag.NewFlagSet(flag, pflag.ContinueOnError)
	f.Usage = func() {}
	out.model(f)
	out.compileFlags = c.compileFlags // the flags point into out; unset flags keep the common values
	words, err := shellwords.Split(c.flags[side])
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	if c.zincs[side] != "" {
		words, out.extra = known(f, words)
	}
	if err := f.Parse(words); err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	if f.NArg() > 0 {
		return nil, usagef("%s: %q is not a flag", flag, f.Arg(0))
	}
	if c.targets[side] != "" {
		if name != "" && name != c.targets[side] {
			return nil, usagef("--target-%s=%s conflicts with @%s of the operand", letter, c.targets[side], name)
		}
		name = c.targets[side]
	}
	if name != "" {
		out.target = name
	}
	return &out, out.check()
}

// executables opens the executables that compile and sets the labels of the versions: what each
// reports, followed by its digest if both report the same.
func (c *diffCommand) executables(ctx context.Context) error {
	if c.zincs == [2]string{} {
		return nil
	}
	var sums [2]string
	for i, path := range c.zincs {
		if path == "" {
			c.labels[i] = ownVersion().String()
			continue
		}
		x, err := toolchain.Open(ctx, path)
		if err != nil {
			return fmt.Errorf("--zinc-%s: %w", "ab"[i:i+1], err)
		}
		c.opened[i], c.labels[i], sums[i] = x, x.Version.String(), x.SHA256
	}
	if c.labels[0] != c.labels[1] {
		return nil
	}
	for i, sum := range sums {
		if sum == "" {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if sums[i], err = toolchain.Digest(self); err != nil {
				return err
			}
		}
	}
	if sums[0] != sums[1] {
		for i := range c.labels {
			c.labels[i] += " (sha256 " + sums[i][:12] + ")"
		}
	}
	return nil
}

func (c *diffCommand) run(ctx context.Context, args []string) error {
	if err := c.check(); err != nil {
		return err
	}
	one := len(args) == 1
	if one {
		path, name := operand(args[0])
		if args = []string{args[0], path}; name == "" && c.targets == [2]string{} && c.flags == [2]string{} &&
			c.zincs == [2]string{} {
			return usagef("missing B; with one model, set --target-b, --flags-b or --zinc-b")
		}
	}
	if err := c.executables(ctx); err != nil {
		return err
	}
	c.passes = !c.bytes && (one || c.zincs != [2]string{}) && c.levels == nil || slices.Contains(c.levels,
		string(compare.Passes))
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
	if r.Same && len(c.levels) > 0 {
		// If none of the requested levels was compared, the answer would look as if the sides were equal.
		if i := slices.IndexFunc(r.Levels, func(l compare.Coverage) bool { return l.Missing == "" }); i < 0 {
			return fmt.Errorf("nothing could be compared: %s", r.Levels[0].Missing)
		}
	}
	for i, s := range []*compare.Summary{&r.A, &r.B} {
		if c.names[i] != "" {
			s.Name = c.names[i]
		}
	}
	switch {
	case c.quiet:
	case c.json:
		err = jsonform.Document(c.out, r)
	case c.markdown:
		err = r.Markdown(c.out, compare.TextOptions{Most: c.most})
	default:
		err = c.printText(diffTints, func(w io.Writer) error { return r.Text(w, compare.TextOptions{Most: c.most}) })
	}
	return different(err, r.Same)
}

// rangesJSON is what zinc diff --bytes --json prints.
type rangesJSON struct {
	Ranges []compare.Range `json:"ranges"` // runs of bytes that differ, in the order of the files
}

func (c *diffCommand) ranges(sides [2]*compare.Side) error {
	rs, err := compare.Bytes(sides[0], sides[1])
	switch {
	case err != nil || c.quiet:
	case c.json:
		err = jsonform.Document(c.out, rangesJSON{rs})
	default:
		err = compare.RangesText(c.out, rs)
	}
	return different(err, len(rs) == 0)
}

// different returns err, or an error for exit status 1 if the sides differ.
func different(err error, same bool) error {
	if err == nil && !same {
		return &exitError{err: errors.New("the sides differ"), status: statusDiffer, shown: true}
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
	compiled, err := c.isPair(path)
	if err != nil {
		return nil, err
	}
	if compiled {
		if name != "" || c.targets[i] != "" || c.flags[i] != "" || c.zincs[i] != "" {
			return nil, usagef("%s is already compiled; targets, flags and executables apply to models", path)
		}
		return c.pairSide(path)
	}
	o, err := flags.options(c.env, path, nil)
	if err != nil {
		return nil, err
	}
	side := "side " + "AB"[i:i+1]
	p := c.newProgress(c.progress)
	defer p.end()
	o.Progress = func(stage string, done, total int) { p.step(side+", "+stage, done, total) }
	if c.opened[i] != nil {
		p.line(side + ": " + c.opened[i].Path + " compiles")
	}
	s, err := compare.Open(ctx, compare.Request{
		Path:       path,
		Frontend:   frontend.Options{WeightsDir: flags.weights, Follow: flags.follow, Stdin: c.stdin},
		Compile:    o,
		Compiler:   c.labels[i],
		Executable: c.opened[i],
		Extra:      flags.extra,
		Passes:     c.passes,
	})
	if err != nil {
		return nil, fmt.Errorf("side %s: %w", "AB"[i:i+1], err)
	}
	return s, nil
}

// pairSide opens a pair, or a container without a descriptor beside it.
func (c *diffCommand) pairSide(path string) (*compare.Side, error) {
	p, err := pair.Reader(c.whole).ReadOrContainer(path)
	if err != nil {
		return nil, err
	}
	db, err := provenance.Open(pair.PathsOf(path).Debug)
	if err == nil {
		s, err := compare.OpenPair(path, p, db)
		if err == nil {
			return s, nil
		}
		fmt.Fprintf(c.err, "zinc: warning: %s; ignoring it\n", err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(c.err, "zinc: warning: %s; ignoring it\n", err) // the error names the file
	}
	return compare.OpenPair(path, p, nil)
}
