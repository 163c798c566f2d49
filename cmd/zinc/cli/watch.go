package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/memlimit"
)

// watchEvery is how often the files of a watched model are looked at.
const watchEvery = 5 * time.Millisecond

// watchCommand is the state of `zinc watch MODEL`.
type watchCommand struct {
	*env
	compileFlags
	json    bool
	changes int
	most    int
	seen    stamp // of the files as they were before the model was opened last
	memory  *compile.Memory
	held    string // the weights that memory is of, as in a stamp
}

// stamp describes the files of a model. It changes with their names, sizes and times. A file that is missing for a
// moment, while an editor replaces it, is a change too.
type stamp struct {
	files   string
	weights string   // of files other than the text or the specification
	paths   []string // of the files and, in a model that is a folder, their folders
}

func newWatch(e *env) *cobra.Command {
	c := &watchCommand{env: e}
	cmd := &cobra.Command{
		Use:     "watch MODEL",
		GroupID: groupUnderstand,
		Short:   "Check a model whenever its files change, and show what changed",
		Long: `Watch checks MODEL, prints what a call is estimated to take and what runs where, and
then looks at the model's files until it is interrupted. When one changes it checks the
model again and prints what changed since the last time that it could, as zinc diff
does: the statements, the values of constants, what runs where, and what that costs.
It builds no pair, which takes most of the time of zinc diff. A text with errors is
reported, and watched on.

Weights that are missing have assumed values, as in zinc check.`,
		Example: `  zinc watch model.mil
  zinc watch model.mlmodelc --precision fp16
  zinc watch model.mil --changes 1 --json`,
		Args: operands(1, 1, "one MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print a JSON document, that of zinc diff, for each change")
	f.IntVar(&c.changes, "changes", 0, "end after this many changes, 0 for never")
	f.IntVar(&c.most, "max-lines", 12, "maximum lines of details, and effects, per change, 0 for all; JSON has all")
	c.model(f)
	return cmd
}

func (c *watchCommand) run(ctx context.Context, path string) error {
	if err := c.check(); err != nil {
		return err
	}
	switch {
	case path == stdoutName:
		return usagef("watch: standard input has no file to look at; name a model")
	case c.changes < 0:
		return usagef("--changes=%d: must be 0 or more", c.changes)
	case c.most < 0:
		return usagef("--max-lines=%d: must be 0 or more", c.most)
	}
	var last *compare.Side
	defer func() {
		if last != nil {
			last.Close()
		}
	}()
	weights := "" // of last
	for seen := 0; ; seen++ {
		if seen == 0 {
			c.seen = c.stamp(path)
		} else if c.changes > 0 && seen > c.changes {
			return nil
		} else {
			memlimit.Rest()
			if err := c.changed(ctx, path); err != nil {
				return nil // interrupted, which is how it ends
			}
		}
		now, err := c.side(ctx, path)
		if err != nil {
			if seen == 0 && errors.Is(err, os.ErrNotExist) || ctx.Err() != nil {
				return err
			}
			c.fail(err)
			continue
		}
		if err := c.show(ctx, last, now, weights == c.seen.weights); err != nil {
			now.Close()
			return err
		}
		if last != nil {
			last.Close()
		}
		last, weights = now, c.seen.weights
	}
}

// side compiles the model.
func (c *watchCommand) side(ctx context.Context, path string) (*compare.Side, error) {
	p := c.newProgress(c.progress)
	defer p.end()
	o, err := c.options(c.env, path, p)
	if err != nil {
		return nil, err
	}
	if c.memory == nil || c.held != c.seen.weights {
		c.memory, c.held = compile.NewMemory(o.Target), c.seen.weights
	}
	o.Memory = c.memory
	return compare.Open(ctx, compare.Request{
		Path:         path,
		Frontend:     frontend.Options{WeightsDir: c.weights, Follow: c.follow, AssumeWeights: true},
		Compile:      o,
		EstimateOnly: true,
	})
}

// watchedLevels are what a model shows that is only estimated.
var watchedLevels = []compare.Level{
	compare.Settings, compare.MIL, compare.Constants, compare.Placement, compare.Cost,
}

// show prints what changed from last to now, or what now is if there is no last. The sides read the same weights if
// same is set.
func (c *watchCommand) show(ctx context.Context, last, now *compare.Side, same bool) error {
	if err := c.headline(now); err != nil || last == nil {
		return errors.Join(err, c.flush())
	}
	r, err := compare.Compare(ctx, last, now, compare.Options{Levels: watchedLevels, SameWeights: same})
	if err != nil {
		return err
	}
	r.A.Name, r.B.Name = "before", "now"
	if c.json {
		err = jsonform.Document(c.out, r)
	} else {
		err = c.printText(diffTints, func(w io.Writer) error { return r.Text(w, compare.TextOptions{Most: c.most}) })
	}
	return errors.Join(err, c.flush())
}

// headline prints the time of a call and the placement.
func (c *watchCommand) headline(s *compare.Side) error {
	if c.json {
		return nil
	}
	r, refused := s.Report()
	if r == nil {
		_, err := fmt.Fprintf(c.out, "%s\n", refused)
		return err
	}
	time := ""
	if r.Estimate != nil {
		time = r.CallText() + " a call; "
	}
	return c.printText(answerTints, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s%s\n", time, r.Line())
		return err
	})
}

// changed returns when the model's files have changed, and sets c.seen. The error is ctx's.
func (c *watchCommand) changed(ctx context.Context, path string) error {
	every := time.NewTicker(watchEvery)
	defer every.Stop()
	before := ""
	for {
		// Listing a model's files reads its text, so they are listed when one of them has changed, or its folder.
		if now := stats(c.seen.paths); now != before {
			first := c.stamp(path)
			still := stats(first.paths) == now
			if first.files != c.seen.files && still {
				c.seen = first
				return nil
			}
			c.seen.paths, before = first.paths, ""
			if still {
				before = now
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

func (c *watchCommand) stamp(path string) (s stamp) {
	files, err := pair.Files(path, c.weights)
	if err != nil {
		files = []pair.File{{Path: path}}
	}
	info, err := os.Stat(path)
	folder := err == nil && info.IsDir()
	for _, f := range files {
		text := stats([]string{f.Path})
		s.files += text
		switch filepath.Ext(f.Path) {
		case ".mil", ".mlmodel":
		default:
			s.weights += text
		}
		s.paths = append(s.paths, f.Path)
		if dir := filepath.Dir(f.Path); folder && !slices.Contains(s.paths, dir) {
			s.paths = append(s.paths, dir)
		}
	}
	return s
}

// stats describes files: their names, and what a change of each changes.
func stats(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		fmt.Fprintf(&b, "%s ", path)
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&b, "%d %d", info.Size(), info.ModTime().UnixNano())
		}
		b.WriteByte('\n')
	}
	return b.String()
}
