package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// maxJobs bounds the processes that run at a time.
const maxJobs = 1024

// reduceCommand is the state of `zinc reduce`.
type reduceCommand struct {
	*env
	compileFlags
	predicate   string
	interesting string
	output      string
	timeout     time.Duration
	jobs        int
	maxRuns     int
	only        []string
	list        bool
	json        bool
	seed        uint64
	numerics    string
}

func newReduce(e *env) *cobra.Command {
	c := &reduceCommand{env: e}
	var builtin strings.Builder
	w := tabwriter.NewWriter(&builtin, 0, 8, 2, ' ', 0)
	for _, b := range reduce.Builtins {
		name := b.Name
		if b.Arg != "" {
			name += "=" + b.Arg
		}
		fmt.Fprintf(w, "  %s\t%s\n", name, b.Doc)
	}
	w.Flush()
	cmd := &cobra.Command{
		Use:   "reduce MODEL --predicate CMD",
		Short: "Shrink a model that shows a fault to a small one that shows it",
		Long: `Reduce looks for a smaller model for which the predicate still holds, and writes it as
MIL text or a package, with a weight file that contains the blobs still used.

CMD runs without a shell, once for each candidate, with the path of the candidate's text
instead of {}, or after the other arguments; the weight file is where the text says.
Exit status 0 means that the candidate is interesting, as for creduce and llvm-reduce.
--interesting-exit nonzero reverses that, for commands that should fail; mlir-reduce
uses status 1. A candidate that takes longer than --timeout is not interesting.

Built-in predicates:

` + builtin.String() + `
Candidates are programs that zinc reads and verifies before the predicate sees them; a
model that zinc cannot open cannot be reduced. No candidate is tried twice. -j sets how
many candidates run ahead of their turn; the result does not depend on it unless the
predicate is unreliable, so the predicate runs once more at the end. The best model so
far is written after every pass that made it smaller, and on an interrupt or when
--max-runs is reached.`,
		Example: `  zinc reduce model.mlmodelc --predicate outputs-differ -o small.mil
  zinc reduce model.mil --predicate 'compile-error=takes more than'
  zinc reduce model.mil --predicate './crashes.sh {}' --timeout 30s -j 4
  zinc reduce model.mil --predicate 'zinc check {} --require-engine' --interesting-exit nonzero
  zinc reduce --print-passes`,
		GroupID: groupChange,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.list {
				return operands(0, 0, "--print-passes takes no MODEL")(cmd, args)
			}
			return operands(1, 1, "one MODEL")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.list {
				return c.passList()
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.predicate, "predicate", "",
		"command, or built-in predicate, that decides whether a candidate is interesting (`CMD`)")
	f.Var(newChoice(&c.interesting, "zero", "nonzero"), "interesting-exit",
		"exit status of the command that means interesting")
	f.StringVarP(&c.output, "output", "o", "reduced.mil",
		"`FILE.mil`, a package (.mlpackage) or another folder to write")
	f.DurationVar(&c.timeout, "timeout", 5*time.Minute, "time limit of one run of the predicate, 0 for none")
	f.IntVarP(&c.jobs, "jobs", "j", 0, "candidates to try at a time, 0 for one per processor")
	f.IntVar(&c.maxRuns, "max-runs", 0, "maximum runs of the predicate, 0 for unlimited")
	f.StringSliceVar(&c.only, "pass", nil, "run this pass only (repeatable)")
	f.BoolVar(&c.list, "print-passes", false, "list the passes instead")
	f.BoolVar(&c.json, "json", false, "print what was done as JSON")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the inputs of verify and outputs-differ")
	f.Var(newArithmetic(&c.numerics), "numerics", "arithmetic of the simulated engine in verify and outputs-differ")
	c.model(f)
	return cmd
}

// passList prints the passes.
func (c *reduceCommand) passList() error {
	w := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	for _, p := range reduce.Passes {
		fmt.Fprintf(w, "%s\t%s\n", p.Name, p.Doc)
	}
	return w.Flush()
}

// question returns the predicate, and the command if the predicate is one.
func (c *reduceCommand) question(o verify.Options) (reduce.Interesting, *reduce.Command, error) {
	if c.predicate == "" {
		return nil, nil, usagef("missing --predicate")
	}
	ask, err := reduce.ParseBuiltin(c.predicate, o)
	if err != nil {
		return nil, nil, usagef("--predicate: %w", err)
	}
	if ask != nil {
		if c.interesting != "zero" {
			return nil, nil, usagef("--interesting-exit applies to commands; %s is built in", c.predicate)
		}
		return ask, nil, nil
	}
	x, err := reduce.ParseCommand(c.predicate)
	if err != nil {
		return nil, nil, usagef("--predicate: %w", err)
	}
	x.Nonzero = c.interesting == "nonzero"
	return x.Interesting, x, nil
}

func (c *reduceCommand) check() error {
	switch {
	case c.jobs < 0 || c.jobs > maxJobs:
		return usagef("--jobs=%d: must be 0 to %d", c.jobs, maxJobs)
	case c.maxRuns < 0:
		return usagef("--max-runs=%d: must be 0 or more", c.maxRuns)
	case c.timeout < 0:
		return usagef("--timeout=%s: must be 0 or more", c.timeout)
	case c.output == "":
		return usagef("--output: want a file name")
	}
	for _, n := range c.only {
		if !slices.Contains(reduce.PassNames(), n) {
			return usagef("--pass=%s: unknown pass; passes are %s", n, strings.Join(reduce.PassNames(), ", "))
		}
	}
	return c.compileFlags.check()
}

func (c *reduceCommand) run(ctx context.Context, path string) error {
	if err := c.check(); err != nil {
		return err
	}
	mode, err := numerics.ParseMode(c.numerics)
	if err != nil {
		return &usageError{err}
	}
	silent := &progress{w: c.err}
	o, err := c.options(c.env, path, silent)
	if err != nil {
		return err
	}
	o.Progress = nil
	vo := verify.Options{Compile: o, Seed: c.seed, Numerics: mode, Workers: c.workers}
	ask, command, err := c.question(vo)
	if err != nil {
		return err
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	text, weights := reduce.Files(c.output)
	if err := c.replaces(c.env, path, m.Path, "-o "+c.output, atomicfile.File{Path: text},
		atomicfile.File{Path: weights}); err != nil {
		return err
	}
	if err := reduce.Writable(c.output); err != nil {
		return fmt.Errorf("-o %s: %w", c.output, err)
	}
	p := c.newProgress(c.progress)
	defer p.end()
	only := c.only
	if len(only) == 0 {
		only = nil
	}
	shown := 0
	blobs := 0 // in the weight file that was written last
	r, err := reduce.Run(ctx, m.Program, reduce.Options{
		Interesting: ask, Timeout: c.timeout, Jobs: c.jobs, MaxRuns: c.maxRuns, Passes: only,
		Best: func(best *ir.Program) {
			// An error is reported when the final result is written.
			if text, err := reduce.Write(ctx, best, c.output); err == nil {
				blobs = max(blobs, len(text.Blobs))
			}
		},
		Progress: func(x reduce.Progress) {
			if x.Statements != shown || p.terminal {
				shown = x.Statements
				at := fmt.Sprintf("round %d, %s", x.Round, x.Pass)
				if x.Round == 0 {
					at = "the original model"
				}
				p.line(fmt.Sprintf("reduce: %s: %d statements after %d runs", at, x.Statements, x.Runs))
			}
		},
	})
	p.end()
	if errors.Is(err, reduce.ErrNotInteresting) && command != nil {
		return fmt.Errorf("%s: %w; %s", path, err, command.Said())
	}
	if r == nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// Write the result even if the search was interrupted.
	keep := context.WithoutCancel(ctx)
	best, werr := reduce.Write(keep, r.Program, c.output)
	if werr == nil && blobs > 0 && len(best.Blobs) == 0 {
		werr = os.Remove(weights) // written for an earlier, larger program
	}
	if werr != nil {
		return errors.Join(err, werr)
	}
	c.note("%s: %d of %d statements, %s in the weight file; %s, %s already known",
		c.output, r.Statements, r.Before, diag.Count(len(best.Blobs), "constant", "constants"),
		diag.Count(r.Runs, "run", "runs"), diag.Count(r.Cached, "candidate", "candidates"))
	if c.json {
		err = cmp.Or(err, jsonform.Document(c.out, r))
	}
	if err != nil {
		return fmt.Errorf("%s: the best so far was written to %s: %w", path, c.output, err)
	}
	switch r.Stopped {
	case reduce.Interrupted:
		fmt.Fprintf(c.err, "zinc: interrupted; the best so far is in %s\n", c.output)
		return &exitError{err: context.Canceled, status: statusInterrupted, shown: true}
	case reduce.MaxRuns:
		c.note("--max-runs=%d reached; the best so far is in %s", c.maxRuns, c.output)
		return nil
	}
	return c.confirm(ctx, ask, command != nil)
}

// confirm runs the predicate again on the written text: a built-in predicate saw only programs in
// memory, and a command may be unreliable.
func (c *reduceCommand) confirm(ctx context.Context, ask reduce.Interesting, command bool) error {
	m, err := frontend.Open(c.output, frontend.Options{})
	if err != nil {
		return &internalError{err: fmt.Errorf("opening the written model: %w", err)}
	}
	defer m.Close()
	_, err = reduce.Run(ctx, m.Program, reduce.Options{
		Interesting: ask,
		Timeout:     c.timeout,
		Jobs:        1,
		Passes:      []string{},
	})
	if errors.Is(err, reduce.ErrNotInteresting) {
		if command {
			return fmt.Errorf("%s was written, but when run again the predicate does not hold for it: its answers "+
				"change from run to run, or with the model's path", c.output)
		}
		return &internalError{err: fmt.Errorf("%s was written, but the predicate does not hold for its text", c.output)}
	}
	return err
}
