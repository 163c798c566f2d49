package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/inspect/dump"
)

// tdDataExt is the extension of the file with constants and descriptor, beside task text.
const tdDataExt = ".tddata"

// isTaskView reports whether a file begins as one of records or images of tasks.
func isTaskView(head []byte) bool {
	k := dump.KindOf(head)
	return k == dump.KindRecords || k == dump.KindImages
}

// compileTasks builds a pair from the task text at path.
func (c *compileCommand) compileTasks(ctx context.Context, path string) error {
	if c.emission() != nil || c.debug != "" || c.reports.list != nil || len(c.budgets.limits) > 0 {
		return usagef("%s is task text: it compiles only to a pair, without reports, budgets or a debug database", path)
	}
	to, err := c.pairPaths(c.out, path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data, closeData, err := blobfile.Map(beside(path, tdDataExt))
	if err != nil {
		return err
	}
	defer closeData() // only read from
	t, err := compile.ReadTaskText(path, text, data)
	if err != nil {
		return err
	}
	p, err := t.Pair()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := c.write(ctx, p.Files(to.Container), nil); err != nil {
		return err
	}
	c.note("%s has the tasks of %s", to.Container, path)
	return nil
}

func parts(ps [][]byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		for _, p := range ps {
			if _, err := w.Write(p); err != nil {
				return err
			}
		}
		return nil
	}
}
