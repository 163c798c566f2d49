package reduce

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// A Candidate is a program that the predicate judges. It is valid while the predicate runs.
type Candidate struct {
	Number int // of the run that it belongs to, in order of beginning
	prog   *ir.Program
	text   *unbuild.Text
	key    key

	dir  string // of all candidates
	once sync.Once
	path string
	err  error
}

// Program returns a copy of the program, which the predicate may change.
// Constants are shared with other candidates: they must not be written to.
func (c *Candidate) Program() *ir.Program { return ir.CloneProgram(c.prog) }

// Path returns the path of the candidate's MIL text, with the weight file in the
// same folder as the text says. The files are written by the first call and
// removed when the predicate returns.
func (c *Candidate) Path() (string, error) {
	c.once.Do(func() {
		dir := filepath.Join(c.dir, strconv.Itoa(c.Number))
		c.path = filepath.Join(dir, frontend.TextName)
		c.err = c.write(dir)
	})
	return c.path, c.err
}

func (c *Candidate) write(dir string) (err error) {
	weights := filepath.Join(dir, filepath.FromSlash(defaultWeights))
	if err := os.MkdirAll(filepath.Dir(weights), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(c.path, c.text.MIL, 0o666); err != nil || len(c.text.Blobs) == 0 {
		return err
	}
	f, err := os.Create(weights)
	if err != nil {
		return err
	}
	defer func() {
		err = cmp.Or(err, f.Close())
	}()
	return c.text.WriteWeights(f)
}

// remove removes what Path has written.
func (c *Candidate) remove() {
	if c.path != "" {
		os.RemoveAll(filepath.Dir(c.path))
	}
}

// Interesting reports whether a candidate still shows the fault. An error ends the reduction; a candidate that cannot
// be judged is not interesting. If the context ends, by a time limit or because the answer is no longer needed, the
// result is ignored.
type Interesting func(ctx context.Context, c *Candidate) (bool, error)
