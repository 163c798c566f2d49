package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/runtime/sim"
)

// proveCommand is the state of `zinc prove`.
type proveCommand struct {
	*env
	compileFlags
	seed uint64
	work int64
	json bool
	all  bool
}

func newProve(e *env) *cobra.Command {
	c := &proveCommand{env: e}
	cmd := &cobra.Command{
		Use:   "prove FILE.hwx MODEL",
		Short: "Prove that a pair computes its model: layout, order, constants and fusion, without a tolerance",
		Long: `Prove runs the bytes of a pair and the program that the passes make of MODEL once each over
the prime field of 2^61-1 elements, on random inputs, and compares all outputs. Nothing
rounds, each lookup table is the function that it approximates, and a sum of many products is a
random form of its factors, or exact if forms do not show that all is equal. Equal outputs show
that addresses, strides, tiles, order, fusion and constants are right, with an error below
2^-40; docs/prove.md says what is compared and what is not.

It then compares that program with MODEL, statement by statement: a statement is proved if the
program computes its results, up to the rounding of constants that passes computed; else both are
run on samples, and it is checked or not concluded. --work allows more samples of large statements.

MODEL is compiled again with the flags that the pair was compiled with.

For a pair that is wrong it prints the first element that differs, its address and the task that
wrote it; where it cannot conclude, the statements and why. Statements that are not proved are
printed once for each reason; --all prints every one, and those that are proved up to
the rounding of constants.

The exit status is 5 when the pair is wrong, and 6 when a statement is not concluded or it is open
whether the bytes compute the program.`,
		Example: `  zinc prove digits.hwx digits.mlmodelc
  zinc prove digits.hwx digits.mlmodelc --seed 2 --json`,
		GroupID: groupRun,
		Args:    operands(2, 2, "one FILE.hwx and one MODEL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
	f := cmd.Flags()
	f.Uint64Var(&c.seed, "seed", firstSeed, "seed of the inputs and of the functions")
	f.Int64Var(&c.work, "work", prove.DefaultWork, "elements that the samples of one statement may compute")
	f.BoolVar(&c.all, "all", false, "print every statement that is not proved exactly, not one for each reason")
	f.BoolVar(&c.json, "json", false, "print the result as JSON")
	c.model(f)
	return cmd
}

func (c *proveCommand) run(ctx context.Context, container, model string) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.work < 1 {
		return usagef("prove: --work is %d, want at least 1", c.work)
	}
	p, err := pair.Reader(c.whole).Read(container)
	if err != nil {
		return err
	}
	m, err := c.open(c.env, model)
	if err != nil {
		return err
	}
	defer m.Close()
	r, err := c.compile(ctx, c.env, m, (*compile.Result).All)
	if err != nil {
		return err
	}
	s, err := sim.Open(p)
	if err != nil {
		return fmt.Errorf("%s: %w", container, err)
	}
	shown := c.newProgress(c.progress)
	defer shown.end()
	res, err := prove.Pair(ctx, s, verify.Provable(r), prove.Options{
		Seed:     c.seed,
		Workers:  c.workers,
		Work:     c.work,
		Progress: shown.step,
	})
	shown.end()
	if err != nil {
		return err
	}
	if c.json {
		err = jsonform.Document(c.out, res)
	} else {
		err = c.printText(verifyTints, func(w io.Writer) error {
			return res.Text(w, prove.TextOptions{All: c.all, AllFlag: "--all", WorkFlag: "--work"})
		})
	}
	if err != nil || res.Conclusion() == nil {
		return err
	}
	err = c.notProved(res.Conclusion())
	if q, e := r.Pair(); e == nil && !bytes.Equal(q.Container, p.Container) {
		c.note("MODEL does not compile to this container with these flags; set those that it was compiled with")
	}
	return err
}

// notProved prints why a proof ends without success, and returns the error with its exit status.
func (e *env) notProved(why error) error {
	fmt.Fprintf(e.err, "zinc: %v\n", why)
	status := statusUntold
	if errors.Is(why, prove.ErrWrong) {
		status = statusVerify
	}
	return &exitError{err: why, status: status, shown: true}
}

// proved proves a compilation, for --prove.
func (e *env) proved(ctx context.Context, r *compile.Result, workers int) error {
	res, err := verify.Prove(ctx, r, prove.Options{Seed: firstSeed, Workers: workers})
	if err == nil {
		err = res.Text(e.err, prove.TextOptions{})
	}
	if err == nil && res.Verdict == prove.Wrong {
		err = e.notProved(prove.ErrWrong)
	}
	return err
}
