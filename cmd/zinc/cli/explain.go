package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// explainCommand is the state of `zinc explain`.
type explainCommand struct {
	*env
	compileFlags
	op       string
	json     bool
	rewrites bool
	hazards  bool
	tasks    int
	seed     uint64
	output   string
	rewrite  string
}

func newExplain(e *env) *cobra.Command {
	c := &explainCommand{env: e}
	cmd := &cobra.Command{
		Use:     "explain MODEL:LINE | explain MODEL --op NAME",
		GroupID: groupUnderstand,
		Short:   "Show how a statement was compiled, and a rewrite of a refused one",
		Long: `Explain compiles MODEL in memory and shows how the statement on LINE of its text, or the
one whose result is NAME, was compiled: the passes that changed it, where it runs and
by which rule, its tasks with the fields of their words, the bytes of its constants, its
surfaces, the estimated cost, what is known about its numbers, and the numeric hazards
that they may reach.

For a statement on the CPU it prints the rule, the value that breaks the rule and the
limit, and looks for a rewrite. A rewrite is shown only if zinc has compiled the changed
model, the replacement's operations that compute run on the engine, and the simulator
and the interpreter agree with the original on the same inputs. In a model with more
than 300 operations the statement alone is compiled and run. If a tensor exceeds the
engine's limits, operations that only move its data may stay on the CPU; they are
listed.

For a constant or an input it prints what reads it; for an unknown name, the statements
with similar names.

For targets that zinc cannot write programs for, only the placement is shown; rewrites
are placed by the rules of the target, and compiled and run for h13.`,
		Example: `  zinc explain model.mil:12
  zinc explain model.mlmodelc --op conv_7 --tasks 3
  zinc explain model.mil --op y -o rewritten.mil`,
		Args: operands(1, 1, "one MODEL:LINE, or MODEL with --op"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	c.model(f)
	f.Lookup("target").Usage = "hardware `TARGET`: " + strings.Join(target.Names(), ", ") + chipsToo
	f.StringVar(&c.op, "op", "", "`NAME` of the operation or a result, instead of a line")
	f.BoolVar(&c.json, "json", false, "print JSON, with the fields of all tasks")
	f.IntVar(&c.tasks, "tasks", 1, "number of tasks to print with their fields")
	f.BoolVar(&c.rewrites, "rewrites", true, "look for rewrites of what the engine refuses")
	f.BoolVar(&c.hazards, "hazards", true, "check the statement's numbers by the rules of zinc lint")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the inputs for rewrites")
	f.StringVarP(&c.output, "output", "o", "",
		"`FILE.mil`, a package (.mlpackage) or another folder for the rewritten function, or only the statement of a "+
			"large one; - prints its text instead of the answer")
	f.StringVar(&c.rewrite, "rewrite", "", "`NAME` of the rewrite that --output writes (default the first)")
	return cmd
}

// place splits MODEL:LINE.
func (c *explainCommand) place(operand string) (string, explain.Place, error) {
	at := explain.Place{Name: c.op}
	i := strings.LastIndexByte(operand, ':')
	line, err := 0, error(nil)
	if i > 0 {
		line, err = strconv.Atoi(operand[i+1:])
	}
	switch {
	case i > 0 && err == nil && line > 0 && c.op != "":
		return "", at, usagef("explain: a line and --op cannot be combined")
	case i > 0 && err == nil && line > 0:
		return operand[:i], explain.Place{Line: line}, nil
	case c.op == "":
		return "", at, usagef("explain %q: want MODEL:LINE, with a line from 1 on, or MODEL and --op NAME; "+
			"zinc check --all MODEL lists the statements", operand)
	}
	return operand, at, nil
}

func (c *explainCommand) run(ctx context.Context, operand string) error {
	path, at, err := c.place(operand)
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	switch {
	case c.tasks < 0:
		return usagef("--tasks=%d: must be 0 or more", c.tasks)
	case c.output != "" && !c.rewrites:
		return usagef("explain: --output requires a rewrite, which --rewrites=false disables")
	case c.output == stdoutName && c.json:
		return usagef("explain: -o - and --json would both write to standard output")
	case c.rewrite != "" && c.output == "":
		return usagef("explain: --rewrite requires --output")
	}
	c.assume = c.output == "" // what became of a statement hardly depends on values
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	again := []*frontend.Model{m}
	defer func() {
		for _, m := range again {
			m.Close()
		}
	}()
	p := c.newProgress(c.progress)
	defer p.end()
	o, err := c.options(c.env, m.Path, p)
	if err != nil {
		return err
	}
	a, err := explain.Explain(ctx, taken(m), at, explain.Options{
		Again: func() (*ir.Program, error) {
			m, err := c.reopen(c.env, path)
			if err != nil {
				return nil, err
			}
			again = append(again, m)
			return taken(m), nil
		},
		Compile:  o,
		Rewrites: c.rewrites,
		Hazards:  c.hazards,
		Seed:     c.seed,
		Workers:  c.workers,
	})
	p.end()
	if err != nil {
		if at := (*explain.PlaceError)(nil); errors.As(err, &at) {
			return fmt.Errorf("%s: %w", filepath.ToSlash(m.Path), err)
		}
		return err
	}
	a.File = filepath.ToSlash(a.File)
	switch {
	case c.output == stdoutName:
	case c.json:
		err = jsonform.Document(c.out, a)
	default:
		err = c.printText(answerTints, func(w io.Writer) error { return a.Text(w, explain.Detail{Tasks: c.tasks}) })
	}
	if err != nil || c.output == "" {
		return err
	}
	return c.write(ctx, a)
}

// taken returns the program of a model, which it forgets with its text: Explain changes it, and then needs the memory.
func taken(m *frontend.Model) *ir.Program {
	p := m.Program
	m.Program, m.Source, m.Warnings = nil, nil, nil
	return p
}

// printProgram prints a program whose constants all fit in the text.
func (c *explainCommand) printProgram(p *ir.Program) error {
	t, err := unbuild.Program(p, "weights.bin")
	if err != nil {
		return err
	}
	if len(t.Blobs) > 0 {
		return usagef("the rewritten program has a weight file of %s; name a file with -o FILE.mil",
			diag.Count(len(t.Blobs), "constant", "constants"))
	}
	_, err = c.out.Write(t.MIL)
	return err
}

// write writes the program of a rewrite.
func (c *explainCommand) write(ctx context.Context, a *explain.Answer) error {
	var names []string
	for _, r := range a.Rewrites {
		if c.rewrite == "" || r.Name == c.rewrite {
			if c.output == stdoutName {
				return c.printProgram(r.Program())
			}
			_, err := reduce.Write(ctx, r.Program(), c.output)
			return err
		}
		names = append(names, r.Name)
	}
	if len(names) > 0 {
		return fmt.Errorf("unknown rewrite %q; there are %s", c.rewrite, strings.Join(names, ", "))
	}
	return fmt.Errorf("no rewrite is offered for %q; nothing was written", a.Name)
}
